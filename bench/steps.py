"""The fused online steps, each against its own limit: bare loops with the same reads and writes in the same number of passes
(bench/online.cc), in turns, as medians of ratios."""

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
BEYOND_CACHES = 10_000_000  # from here on memory is the limit, and the aim holds
AIM = 0.95


def short(n):
    return f"{n:.0e}".replace("e+0", "e") if n in SIZES else f"{n / 1e6:g} M"


def measured(run, binary, kind, pages, n, rounds, threads=1, tensors=1, only=""):
    """Rows of the table, one for every step that has `only` in its name."""
    for line in run(binary, "online", kind, pages, n, rounds, threads, tensors, *filter(None, [only])):
        where = ((", large pages" if pages == "large" else "") + (f", {threads} threads" if threads > 1 else "")
                 + (f", {tensors} tensors" if tensors > 1 else ""))
        yield {
            "what": f"{line['what']}, {short(n)} {kind}s{where}",
            "ours": f"{line['gbs']:.1f} GB/s",
            "peer": f"{line['limit_gbs']:.1f} GB/s (bare loop)",
            "ratio": line["ratio"],
            "target": AIM if n >= BEYOND_CACHES else None,
            "operation": f"{line['what']} step, {kind}s{where}", "size": n, "seconds": line["us"] * 1e-6,
        }


def all_steps(run, binary, n, rounds):
    """Every method and both policies on long vectors of either type, as std::vector gets them and in large pages; then lengths from
    a thousand to a hundred million, two threads, and 400 tensors."""
    for pages in ("ordinary", "large"):
        for kind in ("float", "double"):
            yield from measured(run, binary, kind, pages, n, rounds)
    for size in SIZES:
        yield from measured(run, binary, "float", "ordinary", size, rounds, only="reject")
    for size in SIZES[2:]:
        yield from measured(run, binary, "float", "ordinary", size, rounds, threads=2, only="reject")
    yield from measured(run, binary, "float", "ordinary", SIZES[-2], rounds, tensors=400, only="reject")
