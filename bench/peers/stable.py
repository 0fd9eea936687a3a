#!/usr/bin/python3
"""The peers of stable laws: scipy, and the Chambers-Mallows-Stuck transform in numpy, on one thread.

    stable.py samples ALPHA BETA N     nanoseconds per sample
    stable.py functions ALPHA BETA     nanoseconds per point of pdf, cdf and ppf
    stable.py fit ALPHA BETA N         seconds of a fit by maximum likelihood

One line of JSON for each peer, which has the name of the library with its version.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import json
import sys
import time

import numpy as np
import scipy
from scipy.stats import levy_stable

SCIPY = f"scipy {scipy.__version__}"


def cms(rng, alpha, beta, n, block):
    """n standard S0 variables, block by block, in the form that needs the fewest passes."""
    out = np.empty(n)
    t = 0.0 if beta == 0 or alpha == 2 else beta * np.tan(np.pi * alpha / 2)
    for i in range(0, n, block):
        m = min(block, n - i)
        u = (rng.random(m) - 0.5) * np.pi
        w = rng.standard_exponential(m)
        cos_u = np.cos(u)
        d = (1 - alpha) * u
        p = np.cos(d) + t * np.sin(d) if t else np.cos(d)
        b = (np.sin(alpha * u) + t * np.cos(alpha * u) if t else np.sin(alpha * u)) / cos_u
        out[i:i + m] = b * (p / (w * cos_u)) ** ((1 - alpha) / alpha) - t
    return out


def samplers(alpha, beta, n):
    """Name and function of each way to draw n samples; the last is tuned: blocks that stay in cache, and
    numpy's fastest generator."""
    rng, fast = np.random.default_rng(1), np.random.Generator(np.random.SFC64(1))
    return {SCIPY: lambda: levy_stable.rvs(alpha, beta, size=n, random_state=rng),
            "numpy": lambda: cms(rng, alpha, beta, n, block=n),
            "numpy, tuned": lambda: cms(fast, alpha, beta, n, block=8192)}


def functions(alpha, beta):
    """Name, function and number of points: some of those that medgrad_bench takes."""
    levy_stable.parameterization = "S1"
    x, p = np.linspace(-20, 20, 100), np.linspace(0.02, 0.98, 10)
    return {"pdf": (lambda: levy_stable.pdf(x, alpha, beta), len(x)), "cdf": (lambda: levy_stable.cdf(x, alpha, beta), len(x)),
            "quantile": (lambda: levy_stable.ppf(p, alpha, beta), len(p))}


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    what, alpha, beta, *more = sys.argv[1:]
    alpha, beta, n = float(alpha), float(beta), int(more[0]) if more else 0
    levy_stable.rvs(alpha, beta, size=10, random_state=1)  # what scipy prepares at the first call does not count
    if what == "samples":
        for name, call in samplers(alpha, beta, n).items():
            print(json.dumps({"peer": name, "ns": seconds(call) / n * 1e9}))
    elif what == "functions":
        found = {name: seconds(call) / count * 1e9 for name, (call, count) in functions(alpha, beta).items()}
        print(json.dumps({"peer": SCIPY, **found}))
    elif what == "fit":
        levy_stable.parameterization = "S0"
        x = cms(np.random.default_rng(1), alpha, beta, n, block=n)
        print(json.dumps({"peer": SCIPY, "s": seconds(lambda: levy_stable.fit(x))}))
    else:
        sys.exit(f"there is no '{what}'")


if __name__ == "__main__":
    main()
