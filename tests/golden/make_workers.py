#!/usr/bin/env python3
"""Writes workers.json: what n workers' vectors are after some steps, from the definitions.

Everything here is written from the papers' formulas with numpy, and shares nothing with the library."""
import json
import os

import numpy as np

from make_rules import philox


def top_k(x, k):
    keep = sorted(range(len(x)), key=lambda j: (-abs(x[j]), j))[:k]
    return np.where(np.isin(np.arange(len(x)), keep), x, 0)


def random_k(x, k, seed, worker, step):
    if k >= len(x):
        return x
    words = philox(seed, 2**40 + worker, 2 * k * (step + 1))[2 * k * step:]
    keep = set()
    for i in range(k):
        last = len(x) - k + i
        drawn = (words[2 * i] + (words[2 * i + 1] << 32)) * (last + 1) >> 64
        keep.add(last if drawn in keep else drawn)
    assert len(keep) == k
    return np.where(np.isin(np.arange(len(x)), list(keep)), x, 0)


def sign(x):
    return np.abs(x).sum() / len(x) * np.sign(x)


def clip(x, tau):
    size = np.linalg.norm(x)
    return x if size <= tau else tau / size * x


METHODS = {
    "gradient": lambda v, g, i, t: g,
    "ema:tau=0.25": lambda v, g, i, t: 0.75 * v + 0.25 * g,
    "momentum:tau=0.5": lambda v, g, i, t: v + (g - v) / 3,
    "vclip:tau=0.5": lambda v, g, i, t: v + clip(g - v, 0.5),
    "clip21:tau=0.5": lambda v, g, i, t: v + clip(g - v, 0.5),
    "ef21-clip:tau=3": lambda v, g, i, t: v + clip(g - v, 3),
    "ef21-top-k:k=1": lambda v, g, i, t: v + top_k(g - v, 1),
    "ef21-top-k:k=3": lambda v, g, i, t: v + top_k(g - v, 3),
    "ef21-random-k:k=2": lambda v, g, i, t: v + random_k(g - v, 2, 0, i, t),
    "ef21-random-k:k=40:seed=5": lambda v, g, i, t: v + random_k(g - v, 40, 5, i, t),
    "ef21-sign": lambda v, g, i, t: v + sign(g - v),
}


def main():
    rng = np.random.default_rng(20261117)
    cases = []
    for n, d, steps, kind in ((1, 1, 3, "normal"), (3, 5, 7, "normal"), (2, 50, 4, "normal"), (4, 6, 5, "ties")):
        g = rng.normal(size=(steps, n, d))
        if kind == "ties":
            g = np.round(2 * g)
        results = []
        for name, method in METHODS.items():
            v = np.zeros((n, d))
            for t in range(steps):
                v = np.array([method(v[i], g[t, i], i, t) for i in range(n)])
            results.append({"method": name, "vectors": v.tolist()})
        cases.append({"name": f"{kind} {n} x {d}", "gradients": g.tolist(), "results": results})
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "workers.json"), "w", encoding="utf-8") as file:
        json.dump(cases, file)
        file.write("\n")


if __name__ == "__main__":
    main()
