#!/usr/bin/python3
"""Robust rules of other libraries on n rows of d floats, one thread: JSON lines with library, what and milliseconds.

    rules.py N D SECONDS [WHAT…]

numpy, torch and byzfl (PyPI); one that is not installed has a line without milliseconds. Data as in bench/rows.cc. A call that takes
longer than SECONDS is made once, shorter ones as often as fit; the least counts. byzfl's geometric median takes three steps, its CAF
one power step.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import importlib.util
import json
import sys
import time

import numpy as np


def make_rows(n, d):
    random = np.random.default_rng(1)
    common = random.random(d, np.float32) + random.random(d, np.float32) - 1
    u = 2 * random.random((n, d), np.float32) - 1
    rows = common + (0.5 + random.random((n, 1), np.float32)) * u / (np.float32(1.05) - u * u)
    rows[7::8] += 10
    return np.ascontiguousarray(rows, dtype=np.float32)


def trimmed(sort, rows, f):
    return sort(rows)[f:rows.shape[0] - f].mean(0)


def gram_numpy(rows):
    centred = rows - np.median(rows, axis=0)
    return centred @ centred.T


def krum_numpy(rows, f):
    gram = gram_numpy(rows)
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    scores = np.sort(squares, axis=1)[:, 1:len(rows) - f - 1].sum(1)
    return rows[scores.argmin()]


def tasks(rows):
    """(library, what, call); no call where the library is not installed."""
    n = len(rows)
    quarter, eighth = min(n // 4, (n - 1) // 2), min(max(1, n // 8), (n - 1) // 2)
    krum = min(eighth, max(0, (n - 3) // 2))
    numpy = f"numpy {np.__version__}"
    yield numpy, "mean", lambda: rows.mean(0)
    yield numpy, "median", lambda: np.median(rows, axis=0)
    yield numpy, "trimmed mean", lambda: trimmed(lambda x: np.sort(x, axis=0), rows, quarter)
    yield numpy, "krum", lambda: krum_numpy(rows, krum)
    if not importlib.util.find_spec("torch"):
        yield "torch", None, None
        return
    import torch
    torch.set_num_threads(1)
    x = torch.from_numpy(rows)
    name = f"torch {torch.__version__.split('+')[0]}"
    yield name, "mean", lambda: x.mean(0)
    yield name, "median", lambda: x.median(0).values  # the lower of two middle values
    yield name, "trimmed mean", lambda: trimmed(lambda y: y.sort(0).values, x, quarter)
    if not importlib.util.find_spec("byzfl"):
        yield "byzfl", None, None
        return
    import byzfl
    rules = {"mean": byzfl.Average(), "median": byzfl.Median(), "trimmed mean": byzfl.TrMean(f=quarter),
             "meamed": byzfl.Meamed(f=quarter), "geometric median": byzfl.GeometricMedian(),
             "krum": byzfl.Krum(f=krum), "multi-krum": byzfl.MultiKrum(f=krum), "caf": byzfl.CAF(f=eighth),
             "centered clipping": byzfl.CenteredClipping()}
    nnm = byzfl.NNM(f=eighth)
    for what, rule in rules.items():
        yield "byzfl", what, lambda rule=rule: rule(x)
    yield "byzfl", "nnm+median", lambda: rules["median"](nnm(x))
    yield "byzfl", "nnm+krum", lambda: rules["krum"](nnm(x))


def main():
    n, d, limit, *only = sys.argv[1:]
    for library, what, call in tasks(make_rows(int(n), int(d))):
        if call is None:
            print(json.dumps({"library": library, "what": None, "ms": None}))
            continue
        if only and what not in only:
            continue
        start, best = time.process_time(), float("inf")
        while best == float("inf") or time.process_time() - start < float(limit):
            before = time.process_time()
            call()
            best = min(best, time.process_time() - before)
        print(json.dumps({"library": library, "what": what, "n": int(n), "d": int(d), "ms": best * 1e3}), flush=True)


if __name__ == "__main__":
    main()
