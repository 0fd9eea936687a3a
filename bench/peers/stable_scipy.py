#!/usr/bin/env python3
"""Stable densities of scipy and of medgrad in one run: stable_scipy.py path/to/stable_density_bench

scipy takes some 600 us a point, so it gets every 50th point of the 10,000 that medgrad gets.
"""
import subprocess
import sys
import time

import numpy as np
from scipy.stats import levy_stable

levy_stable.parameterization = "S1"


def microseconds(function, x, alpha, beta):
    start = time.perf_counter()
    function(x, alpha, beta)
    return (time.perf_counter() - start) / len(x) * 1e6


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    x = np.linspace(-20, 20, 10000)[::50]
    print("alpha beta |  pdf: scipy  medgrad  ratio |  cdf: scipy  medgrad  ratio   (us per point)")
    for line in lines.splitlines()[1:]:
        alpha, beta, pdf, cdf, _ = map(float, line.split())
        if alpha == 1 and beta == 0:  # closed forms on both sides
            continue
        peers = [microseconds(f, x, alpha, beta) for f in (levy_stable.pdf, levy_stable.cdf)]
        print("%5g %4g | %10.1f %8.2f %6.0f | %10.1f %8.2f %6.0f"
              % (alpha, beta, peers[0], pdf, peers[0] / pdf, peers[1], cdf, peers[1] / cdf), flush=True)


if __name__ == "__main__":
    main()
