"""Stable laws: samples, densities, probabilities, quantiles, tables and fits, against scipy and numpy."""
import pathlib

from measure import ratio_of_turns, run

PEERS = pathlib.Path(__file__).parent / "peers" / "stable.py"


def stable_samples(binary, pythons, alpha, beta, rounds, n=1 << 20):
    """Samples of a stable law against scipy and numpy, and float against double, in turns."""
    def ours(name):
        return run(binary, "stable-samples", name, alpha, beta, n // 4, 10)[0]["ns"]

    mine, single, theirs = [], [], {}
    for _ in range(rounds):
        mine.append(ours("double"))
        single.append(ours("float"))
        for python in pythons:
            for line in run(python, PEERS, "samples", alpha, beta, n):
                theirs.setdefault((python, line["peer"]), []).append(line["ns"])
    what = f"stable samples, alpha {alpha:g}, beta {beta:g}"
    rows = [(f"{what}, doubles", mine, times, name, {"scipy": 12, "numpy": 4}.get(name.split()[0].rstrip(",")) if "tuned" not in name else None)
            for (_, name), times in theirs.items()]
    rows.append((f"{what}, floats", single, mine, "our doubles", 2))
    for label, own, peer, name, target in rows:
        yield {"what": label, "ours": f"{min(own):.1f} ns", "peer": f"{min(peer):.1f} ns ({name})",
               "ratio": ratio_of_turns(own, peer), "target": target}


def stable_functions(binary, pythons, alpha, beta, rounds):
    """Density, probability and quantile of a stable law per point, against scipy's, in turns."""
    mine, theirs = [], {python: [] for python in pythons}
    for _ in range(rounds):
        mine.append(run(binary, "stable-functions", "double", alpha, beta, 10_000, 1)[0])
        for python in pythons:
            theirs[python] += run(python, PEERS, "functions", alpha, beta)
    for turns in theirs.values():
        for name in ("pdf", "cdf", "quantile"):
            own, other = [m[name] for m in mine], [t[name] for t in turns]
            yield {"what": f"stable {name}, alpha {alpha:g}, beta {beta:g}", "ours": f"{min(own) / 1e3:.2f} us",
                   "peer": f"{min(other) / 1e3:.0f} us ({turns[0]['peer']})", "ratio": ratio_of_turns(own, other), "target": 50}


def stable_table(binary, alpha, beta):
    """A density of 1e-10 from a table, in the body and in the tails, against the 100 ns it may take; and the table itself."""
    mine = run(binary, "stable-table", "double", alpha, beta, 20_000, 5)[0]
    law = f"alpha {alpha:g}, beta {beta:g}"
    for part, where in (("table", ""), ("tails", " in the tails")):
        yield {"what": f"stable pdf from a table{where}, {law}", "ours": f"{mine[part]:.0f} ns",
               "peer": f"{mine['integral']:.0f} ns (integral)", "ratio": mine["integral"] / mine[part], "target": 1}
        yield {"what": f"stable pdf from a table{where}, {law}", "ours": f"{mine[part]:.0f} ns", "peer": "100 ns (aim)",
               "ratio": 100 / mine[part], "target": 1}
    yield {"what": f"building that table, {law}", "ours": f"{mine['build_ms']:.1f} ms", "peer": "10 ms (aim)",
           "ratio": 10 / mine["build_ms"], "target": 1}


def stable_growth(binary, alpha, beta, rounds=3):
    """Samples, densities from a table and fits of more and more numbers."""
    law = f"alpha {alpha:g}, beta {beta:g}"

    def row(what, n, seconds):
        return {"what": f"{what}, {law}, {n} numbers", "grows": True, "peer": "", "ratio": None, "target": None,
                "operation": f"{what}, {law}", "size": n, "seconds": seconds}

    for n in (1000, 10_000, 100_000, 1_000_000):
        yield row("stable samples", n, 1e-9 * n * run(binary, "stable-samples", "double", alpha, beta, n, max(rounds, 100_000 // n))[0]["ns"])
        yield row("stable pdf from a table", n, 1e-9 * n * run(binary, "stable-table", "double", alpha, beta, n, rounds)[0]["table"])
    for n in (1000, 10_000, 100_000):
        yield row("stable fit", n, 1e-3 * run(binary, "stable-fit", "double", alpha, beta, n, rounds)[0]["ms"])


def stable_fit(binary, pythons, alpha, beta, n, rounds, peer_n):
    """A fit by maximum likelihood against the second that it may take, and against scipy's, whose time grows with n: it is asked for
    fewer numbers, on which ours is measured too."""
    law = f"alpha {alpha:g}, beta {beta:g}"
    own = run(binary, "stable-fit", "double", alpha, beta, n, rounds)[0]["ms"]
    yield {"what": f"stable fit, {law}, {n} numbers", "ours": f"{own:.0f} ms", "peer": "1000 ms (limit)", "ratio": 1000 / own, "target": 1}
    for python in pythons:
        own = run(binary, "stable-fit", "double", alpha, beta, peer_n, rounds)[0]["ms"]
        for line in run(python, PEERS, "fit", alpha, beta, peer_n):
            yield {"what": f"stable fit, {law}, {peer_n} numbers", "ours": f"{own:.1f} ms", "peer": f"{1e3 * line['s']:.0f} ms ({line['peer']})",
                   "ratio": 1e3 * line["s"] / own, "target": 100}
