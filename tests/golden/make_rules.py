#!/usr/bin/python3
"""Writes rules.json: the rules and pre-aggregators by their definitions, in numpy.

Nothing here is shared with the library: distances are differences of rows, eigenvalues are numpy's,
subsets are tried one by one. Run as: make_rules.py > rules.json
"""

import itertools
import json
import math

import numpy as np


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
    middle = np.median(x, 0)
    order = np.argsort(np.abs(x - middle), axis=0, kind="stable")[:len(x) - f]
    return np.take_along_axis(x, order, 0).mean(0)


def best_subset(x, f, measure):
    best = min(itertools.combinations(range(len(x)), len(x) - f), key=lambda s: measure(x[list(s)]))
    return x[list(best)].mean(0)


def mda(x, f):
    return best_subset(x, f, lambda rows: squares(rows).max())


def smea(x, f):
    def spread(rows):
        centred = rows - rows.mean(0)
        return np.linalg.eigvalsh(centred.T @ centred / len(rows))[-1]
    return best_subset(x, f, spread)


def monna(x, f, pivot=0):
    return x[nearest(squares(x)[pivot], len(x) - f, pivot)].mean(0)


def caf(x, f):
    n = len(x)
    c, best, least = np.ones(n), x.mean(0), math.inf
    while c.sum() > n - 2 * f:
        mu = c @ x / c.sum()
        y = x - mu
        values, vectors = np.linalg.eigh((y.T * c) @ y / c.sum())
        if values[-1] < least:
            best, least = mu, values[-1]
        tau = (y @ vectors[:, -1])**2
        c = c * (1 - tau / tau[c > 0].max())
        c[c < 0] = 0
    return best


def centered_clipping(x, clip, iterations, center=None):
    v = np.zeros(x.shape[1]) if center is None else center
    for _ in range(iterations):
        r = np.linalg.norm(x - v, axis=1)
        v = v + (np.minimum(1, clip / r)[:, None] * (x - v)).mean(0)
    return v


# ---- Pre-aggregators ----

def nnm(x, f):
    d2 = squares(x)
    return np.array([x[nearest(d2[i], len(x) - f, i)].mean(0) for i in range(len(x))])


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


def shortened(x, most):
    norms = np.linalg.norm(x, axis=1)
    return x * np.minimum(1, np.divide(most, norms, out=np.ones(len(x)), where=norms > 0))[:, None]


def arc(x, f):
    n = len(x)
    return shortened(x, np.sort(np.linalg.norm(x, axis=1))[::-1][2 * f * (n - f) // n])


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


def results(x):
    """(text of the rule, center or None, result) for all that fit."""
    n = len(x)
    center = np.linspace(-1, 1, x.shape[1]) + x[0] / 2
    size = float(np.median(np.linalg.norm(x, axis=1)))
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
    f = (n - 1) // 4
    last = {"mean": mean, "median": median, "trimmed-mean": lambda y: trimmed_mean(y, f),
            "meamed": lambda y: meamed(y, f), "caf": lambda y: caf(y, f)}
    half = size / 2
    first = {f"nnm:f={f}": nnm(x, f), "bucketing": bucketing(x, 2),
             "bucketing:bucket=3:seed=7": bucketing(x, 3, 7), f"clip:clip={half!r}": shortened(x, half),
             f"arc:f={f}": arc(x, f), f"arc:f={f}+nnm:f={f}": nnm(arc(x, f), f),
             f"arc:f={f}+bucketing:bucket=2:seed=3": bucketing(arc(x, f), 2, 3, 1 << 32),
             f"nnm:f={f}+clip:clip={half!r}": shortened(nnm(x, f), half)}
    for before, y in first.items():
        for name, rule in last.items():
            if 2 * f >= len(y) and name not in ("mean", "median"):
                continue
            own = f":f={f}" if name in ("trimmed-mean", "meamed", "caf") else ""
            yield f"{before}+{name}{own}", None, rule(y)


def main():
    rng = np.random.default_rng(20240)
    out = []
    for name, x in data(rng).items():
        entry = {"name": name, "x": x.tolist(), "results": []}
        for text, center, result in results(x):
            one = {"rule": text, "result": result.tolist()}
            if center is not None:
                one["center"] = center.tolist()
            entry["results"].append(one)
        out.append(entry)
    print(json.dumps(out, indent=None, separators=(",", ":")).replace('{"rule"', '\n{"rule"'))


if __name__ == "__main__":
    main()
