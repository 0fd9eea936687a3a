#!/usr/bin/env python3
"""Writes automatic.json: estimates with tau = auto, from the definitions.

Everything here is written from the formulas with numpy, on the logarithm s of the size where the library keeps the
size itself, and shares nothing with the library."""
import json
import math
import os

import numpy as np

METHODS = [("vclip", 0.1, 0.2, 0.02), ("vclip", 0.5, 0.5, 0.2), ("vclip", 3, 0.9, 2), ("cclip", 0.1, 0.2, 0.02),
           ("cclip", 0.5, 0.5, 0.2), ("cclip", 2, 0.95, 1), ("huber", 0.1, 0.2, 0.02), ("huber", 0.7, 0.5, 0.5)]
MU = 1.345


def follow(name, theta, level, rate, stream):
    m = np.zeros(stream.shape[1])
    s = None
    trace, sizes = [], []
    for g in stream:
        v = g - m
        missing = np.isnan(v)
        v[missing] = 0
        if name == "cclip":
            moving = np.sort(np.abs(v[v != 0]))
            if s is None and len(moving):
                s = math.log(moving[max(math.ceil(level * len(moving)), 1) - 1])
            if s is not None:
                tau = theta * math.exp(s)
                m = m + np.clip(v, -tau, tau)
            if len(moving):
                s += rate * (level - np.mean(moving <= math.exp(s) * (1 + 1e-12)))
        else:
            size = math.sqrt(float(np.sum(v * v)))
            if size > 0 and math.isfinite(size):
                u = math.log(size)
                s = u if s is None else s + min(max(u - s, -rate * (1 - level)), rate * level)
            if s is not None and name == "vclip":
                tau = theta * math.exp(s)
                m = m + (v if size <= tau else tau / size * v)
            elif s is not None and size > 0:
                mu = MU * math.exp(s)
                m = m + mu * theta / max(size, mu * (1 + theta)) * v
        trace.append(m.tolist())
        sizes.append(0 if s is None else math.exp(s))
    return trace, sizes


def main():
    rng = np.random.default_rng(20261118)
    streams = {}
    for d in (1, 2, 10, 77):
        streams[f"cauchy {d}"] = rng.standard_cauchy(size=(40, d)) + 3
    gaps = rng.normal(size=(30, 6))
    gaps[:2] = 0  # nothing to go by at first
    gaps[10] = np.nan
    gaps[11, :3] = np.nan
    gaps[15] = 1e150
    gaps[20] = 1e-150
    gaps[:, 4] = 0
    streams["gaps"] = gaps
    cases = []
    for name, stream in streams.items():
        for method, theta, level, rate in METHODS:
            trace, sizes = follow(method, theta, level, rate, stream)
            cases.append({"stream": name, "method": method, "theta": theta, "level": level, "rate": rate,
                          "sizes": sizes, "last": trace[-1], "middle": trace[len(trace) // 2]})
    folder = os.path.dirname(os.path.abspath(__file__))
    text = {name: [[None if math.isnan(x) else x for x in row] for row in stream.tolist()]
            for name, stream in streams.items()}
    with open(os.path.join(folder, "automatic.json"), "w", encoding="utf-8") as file:
        json.dump({"about": "written by make_automatic.py", "streams": text, "cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
