#!/usr/bin/env python3
"""Nanoseconds per stable sample for the peers: scipy's levy_stable.rvs and a vectorised numpy CMS.

Two numpy versions of the same formula, in the form that needs the fewest passes: `numpy` on whole
arrays with the default generator, as one writes it, and `numpy-blocked` with numpy's fastest
generator in blocks that stay in cache, as one tunes it. Prints one line per case.
"""
import sys
import time

import numpy as np
from scipy.stats import levy_stable


def cms(rng, alpha, beta, n, block=8192, dtype=np.float64):
    """n standard S0 variables (S1 shifted by -beta tan(pi alpha/2)), block by block."""
    out = np.empty(n, dtype)
    t = 0.0 if beta == 0 or alpha == 2 else beta * np.tan(np.pi * alpha / 2)
    for i in range(0, n, block):
        m = min(block, n - i)
        u = (rng.random(m, dtype) - dtype(0.5)) * dtype(np.pi)
        w = rng.standard_exponential(m, dtype)
        cos_u = np.cos(u)
        if alpha == 1:
            a = 1 + 2 / np.pi * beta * u
            out[i:i + m] = a * np.tan(u) - 2 / np.pi * beta * np.log(w * cos_u / a)
            continue
        d = dtype(1 - alpha) * u
        if t == 0:
            p = np.cos(d)
            b = np.sin(dtype(alpha) * u) / cos_u
        else:
            p = np.cos(d) + dtype(t) * np.sin(d)
            b = (np.sin(dtype(alpha) * u) + dtype(t) * np.cos(dtype(alpha) * u)) / cos_u
        x = b * (p / (w * cos_u)) ** dtype((1 - alpha) / alpha)
        out[i:i + m] = x - dtype(t) if t else x
    return out


def best(f, repeats):
    """Shortest time of several: the least disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    np.seterr(all="ignore")
    rng = np.random.default_rng(1)
    fast = np.random.Generator(np.random.SFC64(1))
    print("peer,alpha,beta,ns_per_sample")
    for alpha, beta in [(1.1, 0.0), (1.1, 1.0), (1.8, 0.0), (1.8, 0.5), (0.3, 0.0), (1.0, 0.0), (2.0, 0.0)]:
        scipy = best(lambda: levy_stable.rvs(alpha, beta, size=n, random_state=rng), 3)
        plain = best(lambda: cms(rng, alpha, beta, n, block=n), 7)
        blocked = best(lambda: cms(fast, alpha, beta, n), 7)
        single = best(lambda: cms(fast, alpha, beta, n, dtype=np.float32), 7)
        for peer, seconds in [("scipy", scipy), ("numpy", plain), ("numpy-blocked", blocked),
                              ("numpy-blocked-float32", single)]:
            print(f"{peer},{alpha:g},{beta:g},{1e9 * seconds / n:.1f}")


if __name__ == "__main__":
    main()
