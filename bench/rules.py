"""Rules over rows: against numpy, against a plain pass over the same rows and against the Gram matrix, from 4 to 1000 rows and from 1
to ten million columns; and against the rules of other libraries."""
import pathlib
import sys

import numpy as np

from measure import could_not_be_had, ratio_of_turns, run, seconds
from peers.sample import Weiszfeld, column_median, objective, weiszfeld

TYPES = {"float": np.float32, "double": np.float64}
PEERS = pathlib.Path(__file__).parent / "peers" / "rules.py"


def make_rows(n, d, dtype):
    """Noisy gradients: a common vector, heavy-tailed noise whose size differs from row to row, and two
    rows that point elsewhere."""
    random = np.random.default_rng(1)
    scale = np.abs(random.standard_cauchy(n)) + 0.5
    rows = random.standard_normal(d) + scale[:, None] * random.standard_t(2, (n, d))
    rows[:2] += 10
    return np.ascontiguousarray(rows, dtype=dtype)


def sample(binary, folder, method, n, d, name, tolerance, target, rounds):
    """A sample estimator against its numpy peers, in turns."""
    rows = make_rows(n, d, TYPES[name])
    rows.tofile(folder / "rows")

    def ours():
        # Twenty turns of ours take no longer than one of the peers'.
        return run(binary, "sample", name, method, tolerance, folder / "rows", n, d, 20, folder / "out")[0]

    info = ours()
    estimate = np.fromfile(folder / "out", TYPES[name])
    if method == "median":
        if not np.array_equal(estimate, column_median(rows)):
            sys.exit("The column median differs from numpy's.")
        peers = [("np.median", lambda: column_median(rows), target)]
    else:
        # How many iterations the peer needs for the gap we ask of ourselves is found beforehand, so that
        # its time has nothing in it but iterations.
        tuned = Weiszfeld(rows)
        best = objective(rows, estimate)
        k = next((k for k, m in enumerate(tuned.iterates(100))
                  if objective(rows, m) <= best * (1 + tolerance)), None)
        if k is None:
            sys.exit(f"Weiszfeld's iteration did not come within {tolerance:g} of our objective.")
        peers = [(f"Weiszfeld, {k} iterations", lambda: weiszfeld(rows, k), target),
                 ("the same, tuned", lambda: tuned.run(k), None)]
    mine, theirs = [], [[] for _ in peers]
    for _ in range(rounds):
        for times, (_, peer, _) in zip(theirs, peers):
            times.append(seconds(peer)[0])
        mine.append(ours()["seconds"])
    for times, (note, _, wanted) in zip(theirs, peers):
        yield {
            "what": f"{method}, {n} x {d / 1e6:g} M {name}s" + (f", gap {tolerance:g}" if tolerance else ""),
            "ours": f"{min(mine) * 1e3:.2f} ms",
            "peer": f"{min(times) * 1e3:.0f} ms ({note})",
            "ratio": ratio_of_turns(mine, times),
            "target": wanted,
            "detail": info,
        }


# Numbers of rows around which something could jump, and shapes that people have.
ROWS = (3, 4, 8, 16, 17, 24, 32, 48, 64, 65, 96, 128, 129, 192, 256, 257, 512, 1000)
SHAPES = ((11, 1_000_000), (64, 65_536), (80, 65_536), (196, 4_096), (256, 65_536), (1000, 10_000))


def of_entries(entries, rows=ROWS):
    """The shapes with so many entries, whatever the number of rows."""
    return [(n, entries // n) for n in rows]


def median_limit(n):
    """How many times a plain pass over the rows a column median may take; between the sizes that have an aim, that of the next."""
    return next(limit for most, limit in ((16, 1.5), (64, 3), (128, 5), (256, 10), (float("inf"), 20)) if n <= most)


BY_COLUMN = ("mean", "median", "trimmed mean", "meamed")
WITH_AIM = ("geometric median", "huber location", "krum", "multi-krum", "caf", "nnm+krum", "nnm+caf")
WITHOUT_AIM = ("centered clipping", "nnm+geometric median", "nnm+median")


def growth(binary, rounds, shapes, where="", pythons=(), entries=""):
    """Sample estimators of n rows of length d, for every one of the shapes (n, d), against a plain pass that adds up the
    rows; rules on whole rows against the Gram matrix and the median. One thread is measured by its processor time, which
    others on the machine hardly change; two by the clock on the wall, which means something on an idle machine only.
    Beside it the limit of networks: as many minima and maxima in registers as they have; and the libraries that these
    Pythons have. Where all shapes have the same number of `entries`, time grows with the number of rows."""
    rates = run(binary, "fused", "double", 5)[0]
    for n, d in shapes:
        large = n * d > 1 << 20
        lines = run(binary, "rows", "float", n, d, max(3, rounds // 3) if n >= 200 and large else rounds)
        ms = {line["what"]: line["ms"] for line in lines}
        wall = {line["what"]: line["wall_ms"] for line in lines}
        size = f"{n} x {d} floats{where}"

        def row(what, ours, peer, name, target):
            return {"what": f"{what}, {size}", "ours": f"{ours:.4g} ms", "peer": f"{peer:.4g} ms ({name})",
                    "ratio": peer / ours, "target": target, "n": n, "d": d, "name": what, "ms": ours, "peer_ms": peer}

        def grows(row):
            return row | ({"operation": row["name"] + entries, "axis": "the number of rows", "size": n, "seconds": 1e-3 * row["ms"]}
                          if entries else {})

        plain, network = ms["plain"], lines[0]["operations"]
        yield grows(row("mean", ms["mean"], plain, "adding up", 1 / 1.2))
        yield row("mean", ms["mean"], ms["plain in double"], "adding up in double", None)
        yield grows(row("median", ms["median"], plain, "adding up", 1 / median_limit(n)))
        if network:
            bound = network * d / rates["minmax_gops"] * 1e-6
            yield row("median", ms["median"], bound, f"{network} minima and maxima", None)
        for what in ("trimmed mean", "meamed"):
            yield grows(row(what, ms[what], ms["median"], "median", 1 / 1.5))
        speed = n * (n + 1) * d / ms["gram"] * 1e-6
        yield grows({"what": f"Gram matrix, {size}", "ours": f"{speed:.1f} GF/s", "peer": f"{rates['gflops']:.1f} GF/s (fused)",
                     "ratio": speed / rates["gflops"], "target": 0.5, "n": n, "d": d, "name": "Gram matrix", "ms": ms["gram"]})
        # What these reads and this arithmetic take without any care for the input.
        for what, name in (("trimmed mean", "trimmed mean"), ("meamed", "meamed"), ("Gram matrix", "gram"), ("caf", "caf")):
            if f"bare {name}" in ms:
                yield row(what, ms[name], ms[f"bare {name}"], "bare loop", None)
        for what in WITH_AIM + WITHOUT_AIM:
            yield grows(row(what, ms[what], ms["gram"] + ms["median"], "Gram, median", 1 / 1.2 if what in WITH_AIM else None))
        # Who writes a combination reads the rows again; that much is the limit.
        for what in ("geometric median", "multi-krum") if n <= 32 else ():
            again = row(what, ms[what], ms["gram"] + ms["median"] + plain, "Gram, median, adding up", None)
            yield again | {"name": f"{what}, one more pass"}
        if large:
            yield row("plain, 2 threads", wall["plain, 2 threads"], wall["plain"], "one", None) | {"bare": True}  # of the machine, not of ours
        for what in BY_COLUMN + WITH_AIM + WITHOUT_AIM if large else ():
            yield row(f"{what}, 2 threads", wall[f"{what}, 2 threads"], wall[what], "one", 1.6)
        for python in pythons:
            for other in run(python, PEERS, n, d, 0.1):
                if other["ms"] is None:
                    yield could_not_be_had(f"rules, {size}", other["library"])
                else:
                    yield row(other["what"], ms[other["what"]], other["ms"], other["library"], 1)


# Lengths of rows, most of them odd.
LENGTHS = (1, 3, 11, 33, 101, 333, 1001, 3333, 10_001, 33_333, 100_001, 333_333, 1_000_001, 3_333_333, 10_000_000)


def lengths(binary, rounds, n=11, sizes=LENGTHS):
    """The same estimators of a few rows that become longer, against a plain pass that adds up the rows; the exponent of their
    growth is from a thousand entries on, where starting does not count any more."""
    for d in sizes:
        lines = {line["what"]: line["ms"] for line in run(binary, "rows", "float", n, d, rounds if d < 1_000_000 else 2)}
        for what in BY_COLUMN + WITH_AIM + WITHOUT_AIM:
            row = {"what": f"{what}, {n} x {d} floats, by length", "ours": f"{lines[what]:.4g} ms",
                   "peer": f"{lines['plain']:.4g} ms (adding up)", "ratio": lines["plain"] / lines[what], "target": None,
                   "n": n, "d": d, "name": what, "ms": lines[what]}
            if d > 1000:
                row |= {"operation": f"{what} of {n} rows of floats", "size": d, "seconds": lines[what] * 1e-3}
            yield row
