#!/usr/bin/python3
"""Writes rules.json: the rules and pre-aggregators by their definitions, in numpy.

Nothing here is shared with the library: distances are differences of rows, eigenvalues are numpy's,
subsets are tried one by one. Run as: make_rules.py > rules.json
"""

import fractions
import itertools
import json
import math

import numpy as np

MOST = np.finfo(np.float64).max


def squares(x):
    return ((x[:, None, :] - x[None, :, :])**2).sum(-1)


def nearest(distances, count, first=None):
    """The indices of the smallest distances, ties by the lower index; `first` comes first."""
    order = np.argsort(distances, kind="stable")
    if first is not None:
        order = np.concatenate([[first], order[order != first]])
    return order[:count]


# ---- Rules ----

def mean(x):
    return x.mean(0)


def median(x):
    return np.median(x, 0)


def trimmed_mean(x, f):
    return np.sort(x, 0)[f:len(x) - f].mean(0)


def krum_scores(x, f, neighbours=0):
    n, d2 = len(x), squares(x)
    count = neighbours or n - f - 2
    return np.array([np.sort(np.delete(d2[i], i))[:count].sum() for i in range(n)])


def krum(x, f, neighbours=0):
    return x[nearest(krum_scores(x, f, neighbours), 1)[0]]


def multi_krum(x, f, neighbours=0, select=0):
    return x[nearest(krum_scores(x, f, neighbours), select or len(x) - f)].mean(0)


def meamed(x, f):
    """Distances are exact: the median of an even number of values may have to be rounded."""
    result = []
    for column in x.T:
        values = [fractions.Fraction(*v.as_integer_ratio()) for v in column]
        middle = sum(sorted(values)[(len(x) - 1) // 2:len(x) // 2 + 1]) / (1 + (len(x) + 1) % 2)
        near = sorted(range(len(x)), key=lambda i: abs(values[i] - middle))[:len(x) - f]
        result.append(sum(values[i] for i in near) / len(near))
    return np.array([fractions.Fraction(v) for v in result], dtype=np.longdouble)


def best_subset(x, f, measure):
    """The first of those that are equal but for rounding."""
    best, least = None, math.inf
    for subset in itertools.combinations(range(len(x)), len(x) - f):
        value = measure(x[list(subset)])
        if best is None or value < least * (1 - 1e-12):
            best, least = subset, value
    return x[list(best)].mean(0)


def mda(x, f):
    return best_subset(x, f, lambda rows: squares(rows).max())


def smea(x, f):
    def spread(rows):
        centred = rows - rows.mean(0)
        unit = abs(centred).max() or 1
        centred = (centred / unit).astype(float)
        return unit**2 * np.linalg.eigvalsh(centred.T @ centred / len(rows))[-1]
    return best_subset(x, f, spread)


def monna(x, f, pivot=0):
    return x[nearest(squares(x)[pivot], len(x) - f, pivot)].mean(0)


def caf(x, f):
    n = len(x)
    c, best, least = np.ones(n), x.mean(0), math.inf
    while c.sum() > n - 2 * f:
        mu = c @ x / c.sum()
        y = x - mu
        covariance = (y.T * c) @ y / c.sum()
        unit = abs(covariance).max() or 1
        values, vectors = np.linalg.eigh((covariance / unit).astype(float))
        if unit * values[-1] < least:
            best, least = mu, unit * values[-1]
        tau = (y @ vectors[:, -1])**2
        if not tau[c > 0].max() > 0:
            break
        c = c * (1 - tau / tau[c > 0].max())
        c[c < 0] = 0
    return best


def norms(x):
    return np.sqrt((x**2).sum(1))


def cut(x, most, center=0):
    """Rows at most `most` from the centre."""
    r = norms(x - center)
    return center + (x - center) * np.minimum(1, np.divide(most, r, out=np.ones_like(r), where=r > 0))[:, None]


def centered_clipping(x, clip, iterations, center=None, weights=None):
    v = np.zeros(x.shape[1], x.dtype) if center is None else center
    for _ in range(iterations):
        v = np.average(cut(x, clip, v), axis=0, weights=weights)
    return v


def geometric_median(x):
    """In long double, unless a row is the minimiser: Weiszfeld's method to get near, then Newton's."""
    x, counts = np.unique(x.astype(np.longdouble), axis=0, return_counts=True)
    for i, row in enumerate(x):
        others = np.delete(x - row, i, 0)
        pull = (others * (np.delete(counts, i) / norms(others))[:, None]).sum(0)
        if np.sqrt((pull**2).sum()) <= counts[i]:
            return row
    v = np.average(x, axis=0, weights=counts)
    for _ in range(1000):
        v = np.average(x, axis=0, weights=counts / norms(x - v))
    for _ in range(100):
        y = x - v
        r = norms(y)
        gradient = -(y * (counts / r)[:, None]).sum(0)
        hessian = (counts / r).sum() * np.eye(len(v)) - (y.T * (counts / r**3)) @ y
        step = -np.linalg.solve(hessian.astype(float), gradient.astype(float)).astype(np.longdouble)
        while (counts * norms(x - v - step)).sum() > (counts * r).sum() and abs(step).max() > 0:
            step /= 2
        v = v + step
        if abs(step).max() <= 1e-19 * abs(v).max():
            break
    return v


def median_of_means(x, blocks):
    """The geometric median of the means of runs of rows."""
    n = len(x)
    return geometric_median(np.array([x[b * n // blocks:(b + 1) * n // blocks].mean(0) for b in range(blocks)]))


# ---- Pre-aggregators ----

def nnm(x, f):
    d2 = squares(x)
    return np.array([x[np.sort(nearest(d2[i], len(x) - f, i))].mean(0) for i in range(len(x))])


def philox(seed, stream, count):
    """Words of Philox4x32-10 (Salmon et al., 2011): key = seed, counter = (block, stream)."""
    words = []
    for block in range((count + 3) // 4):
        c = [block & 0xffffffff, block >> 32, stream & 0xffffffff, stream >> 32]
        k = [seed & 0xffffffff, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xffffffff, (a >> 32) ^ c[3] ^ k[1], a & 0xffffffff]
            k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
        words += c
    return words[:count]


def bucketing(x, bucket, seed=0, stream=0):
    words = philox(seed, stream, 2 * len(x))
    order = sorted(range(len(x)), key=lambda i: words[2 * i] + (words[2 * i + 1] << 32))
    return np.array([x[order[b:b + bucket]].mean(0) for b in range(0, len(x), bucket)])


def arc(x, f):
    n = len(x)
    return cut(x, np.sort(norms(x))[::-1][2 * f * (n - f) // n])


# ---- Cases ----

def data(rng):
    """Named matrices: plain ones, with outliers, with ties, off-centre, short and long rows."""
    cases = {}
    for n, d in ((5, 3), (7, 1), (9, 17), (12, 2)):
        cases[f"normal {n} x {d}"] = rng.normal(size=(n, d))
    x = rng.normal(size=(11, 6))
    x[[2, 5, 9]] = [50, -3, 8, 0, 0, 1] + 0.1 * rng.normal(size=(3, 6))
    cases["outliers"] = x
    x = rng.normal(size=(10, 8)) + 1e3 * rng.normal(size=8)
    x[4] *= 1e6
    cases["off-centre"] = x
    x = rng.normal(size=(8, 5))
    x[6] = x[1]
    x[7] = x[1]
    cases["repeated"] = x
    return cases


def far(rng):
    """Bulks far away from the origin, and a few rows next to it; pairs that are close, far from the rest."""
    cases = {}
    for size in (1e2, 1e4, 1e6, 1e8, 1e150):
        x = size * np.array([1, 0.3, -2]) + size / 1e5 * rng.normal(size=(9, 3))
        x[[3, 7]] = 0.5 * rng.normal(size=(2, 3))
        cases[f"two near the origin, the others at {size:g}"] = x
    x = rng.normal(size=(9, 3))
    x[[1, 4]] = 1e9 * rng.normal(size=3) + 0.3 * rng.normal(size=(2, 3))
    x[[2, 8]] = 1e9 * rng.normal(size=3) + 0.1 * rng.normal(size=(2, 3))
    cases["pairs far away"] = x
    return cases


def unusual(rng):
    """Entries that are missing, infinite or enormous."""
    cases = {}
    x = rng.normal(size=(9, 4))
    x[1] = np.nan
    x[4, 0] = x[6, 1] = x[6, 2] = np.nan
    cases["missing entries"] = x
    x = rng.normal(size=(9, 4))
    x[2], x[5, 1] = np.inf, -np.inf
    cases["infinite entries"] = x
    x = rng.normal(size=(9, 4))
    x[0], x[7] = 1e300, [-1e300, 2, 0, 1e160]
    cases["1e300"] = x
    x = rng.normal(size=(9, 4))
    x[3], x[4, 2], x[8] = np.nan, np.inf, 1e300
    cases["all of them"] = x
    return cases


def cleaned(x):
    """In long double: the largest number for an infinity, the median of its column for what is missing."""
    y = np.clip(x, -MOST, MOST).astype(np.longdouble)
    for column in y.T:
        column[np.isnan(column)] = np.median(column[~np.isnan(column)])
    return y


def by_column(rule, x):
    """What is missing takes no part."""
    y = np.clip(x, -MOST, MOST).astype(np.longdouble)
    return np.array([rule(column[~np.isnan(column)][:, None])[0] for column in y.T])


def unusual_results(x):
    n, y, f = len(x), cleaned(x), 2
    yield "median", None, by_column(median, x)
    for f in (0, 2, 4):
        for name, rule in (("trimmed-mean", trimmed_mean), ("meamed", meamed)):
            yield f"{name}:f={f}", None, by_column(lambda c, r=rule, g=f: r(c, min(g, (len(c) - 1) // 2)), x)
    for f in (2, 3):
        for name, rule in (("krum", krum), ("multi-krum", multi_krum), ("mda", mda), ("smea", smea), ("monna", monna),
                           ("caf", caf)):
            yield f"{name}:f={f}", None, rule(y, f)
            yield f"nnm+{name}:f={f}", None, rule(nnm(y, f), f)
        yield f"nnm+median:f={f}", None, median(nnm(y, f))
        yield f"arc+trimmed-mean:f={f}", None, trimmed_mean(arc(y, f), f)
    center = np.linspace(-1, 1, y.shape[1])
    for clip in (0.5, 3):
        for iterations in (1, 20):
            text = f"centered-clipping:clip={clip}:iterations={iterations}"
            yield text, None, centered_clipping(y, clip, iterations)
            yield text, center, centered_clipping(y, clip, iterations, center)
        yield f"clip:clip={clip}+median", None, median(cut(y, clip))
        yield f"clip:clip={clip}+krum:f=2", None, krum(cut(y, clip), 2)


def far_results(x):
    f, y = 2, x.astype(np.longdouble)
    near = norms(y).min()
    last = {"mean": mean, "median": median, "geometric-median": geometric_median,
            f"krum:f={f}": lambda z: krum(z, f), f"mda:f={f}": lambda z: mda(z, f),
            f"monna:f={f}:pivot=3": lambda z: monna(z, f, 3), f"caf:f={f}": lambda z: caf(z, f),
            f"nnm:f={f}+median": lambda z: median(nnm(z, f))}
    for clip in map(float, (near / 2, 3 * near, 1e3 * near)):
        for iterations in (1, 3, 10):
            text = f"centered-clipping:clip={clip!r}:iterations={iterations}"
            yield text, None, centered_clipping(y, clip, iterations)
        yield f"clipped-mean:clip={clip!r}", None, centered_clipping(y, clip, 1)
        for name, rule in last.items():
            yield f"clip:clip={clip!r}+{name}", None, rule(cut(y, clip))
        yield f"arc:f={f}+clip:clip={clip!r}+mean", None, mean(cut(arc(y, f), clip))
        yield f"nnm:f={f}+clip:clip={clip!r}+median", None, median(cut(nnm(y, f), clip))
        text = f"clip:clip={clip!r}+centered-clipping:clip={float(near / 3)!r}:iterations=3"
        yield text, None, centered_clipping(cut(y, clip), float(near / 3), 3)
    for neighbours in (1, 2):
        yield f"krum:f={f}:neighbours={neighbours}", None, krum(y, f, neighbours)
        yield f"multi-krum:f={f}:neighbours={neighbours}:select=2", None, multi_krum(y, f, neighbours, 2)
    yield "monna:f=4:pivot=3", None, monna(y, 4, 3)


def results(x):
    """(text of the rule, center or None, result) for all that fit."""
    n = len(x)
    center = np.linspace(-1, 1, x.shape[1]) + x[0] / 2
    size = float(np.median(norms(x)))
    for f in range(0, (n - 1) // 2 + 1):
        if 2 * f + 2 < n:
            yield f"krum:f={f}", None, krum(x, f)
            yield f"krum:f={f}:neighbours={n - f - 1}", None, krum(x, f, n - f - 1)
            yield f"multi-krum:f={f}", None, multi_krum(x, f)
            yield f"multi-krum:f={f}:select=2:neighbours=2", None, multi_krum(x, f, 2, 2)
        for name, rule in (("meamed", meamed), ("mda", mda), ("smea", smea), ("monna", monna), ("caf", caf)):
            yield f"{name}:f={f}", None, rule(x, f)
        yield f"monna:f={f}:pivot={n - 1}", None, monna(x, f, n - 1)
    for clip in (size / 10, size, 30 * size):
        for iterations in (1, 2, 50):
            text = f"centered-clipping:clip={clip!r}:iterations={iterations}"
            yield text, None, centered_clipping(x, clip, iterations)
            yield text, center, centered_clipping(x, clip, iterations, center)
            weights = np.linspace(1, 3, n)
            yield text, center, centered_clipping(x, clip, iterations, center, weights), weights
        for own in (None, center):
            yield f"clipped-mean:clip={clip!r}", own, cut(x, clip, 0 if own is None else own).mean(0)
    for blocks in (3, 5):
        yield f"median-of-means:blocks={blocks}", None, median_of_means(x, blocks)
    f = (n - 1) // 4
    last = {"mean": mean, "median": median, "trimmed-mean": lambda y: trimmed_mean(y, f),
            "meamed": lambda y: meamed(y, f), "caf": lambda y: caf(y, f), "mda": lambda y: mda(y, f),
            "smea": lambda y: smea(y, f), "monna": lambda y: monna(y, f), "krum": lambda y: krum(y, f),
            "geometric-median": geometric_median,
            f"centered-clipping:clip={size / 3!r}:iterations=5": lambda y: centered_clipping(y, size / 3, 5)}
    half = size / 2
    first = {f"nnm:f={f}": nnm(x, f), "bucketing": bucketing(x, 2),
             "bucketing:bucket=3:seed=7": bucketing(x, 3, 7), f"clip:clip={half!r}": cut(x, half),
             f"arc:f={f}": arc(x, f), f"arc:f={f}+nnm:f={f}": nnm(arc(x, f), f),
             f"arc:f={f}+bucketing:bucket=2:seed=3": bucketing(arc(x, f), 2, 3, 1 << 32),
             f"nnm:f={f}+clip:clip={half!r}": cut(nnm(x, f), half)}
    for before, y in first.items():
        for name, rule in last.items():
            takes_f = name in ("trimmed-mean", "meamed", "caf", "mda", "smea", "monna", "krum")
            if takes_f and 2 * f + (2 if name == "krum" else 0) >= len(y):
                continue
            if name == "geometric-median" and (len(y) == 2 or x.shape[1] == 1 and len(y) % 2 == 0):
                continue  # any point between the two in the middle is one
            own = f":f={f}" if takes_f else ""
            yield f"{before}+{name}{own}", None, rule(y)


def entry(name, x, made, close=False):
    """`close`: the result is to be right to its own size, even where most rows are larger."""
    def row(values):
        return [None if np.isnan(v) else float(v) if np.isfinite(v) else str(v) for v in values]
    one = {"name": name, "x": [row(values) for values in x], "results": []}
    if close:
        one["close"] = True
    for text, center, result, *weights in made:
        got = {"rule": text, "result": [float(v) for v in np.clip(result, -MOST, MOST)]}
        if center is not None:
            got["center"] = center.tolist()
        if weights:
            got["weights"] = weights[0].tolist()
        one["results"].append(got)
    return one


def main():
    rng = np.random.default_rng(20240)
    out = [entry(name, x, results(x)) for name, x in data(rng).items()]
    out += [entry(name, x, far_results(x), close=True) for name, x in far(rng).items()]
    out += [entry(name, x, unusual_results(x)) for name, x in unusual(rng).items()]
    print(json.dumps(out, indent=None, separators=(",", ":")).replace('{"rule"', '\n{"rule"'))


if __name__ == "__main__":
    main()
