#!/usr/bin/env python3
"""Scores and tail moments of stable laws in S0: writes stable_scores.json.

Nothing here differentiates numerically, nor is it Zolotarev's integral, which the library uses. With log phi(t) = L(t),

    f(x) = 1/pi int_0^inf Re exp(L - ixt) dt,

and its derivatives have the factors -it, (-it)^2, dL/dalpha, dL/dbeta under the integral. E |X - q| is
2/pi int (1 - Re exp(L - iqt)) / t^2 dt, and E (X - q)_+ half of that and of mean - q. In 40 digits, by Gauss and Legendre's rule on
panels that shrink towards 0, twice with different panels: a value counts only if both agree to 1e-13.
"""
import json
import os

import mpmath as mp

mp.mp.dps = 40
SHAPES = [(0.8, 0.0), (0.8, 0.5), (1.0, 0.0), (1.0, 0.7), (1.2, -0.6), (1.5, 0.0), (1.5, 1.0), (1.5, -1.0), (1.8, 0.3), (1.95, 0.0),
          (1.99, -0.5), (2.0, 0.0)]
XS = [-4.0, -0.8, 0.0, 0.3, 2.0, 7.0]
FIRST = mp.mpf(3) ** -90
NODES, WEIGHTS = zip(*mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(4, 160))


def integral(f, end, width):
    """int_0^end f: panels by a third below 1, then of equal width; the rest below 1e-60 is nothing."""
    cuts = [mp.mpf(0)] + [mp.mpf(3) ** -k for k in range(90, -1, -1)]
    while cuts[-1] < end:
        cuts.append(cuts[-1] + width)
    total = None
    for a, b in zip(cuts, cuts[1:]):
        half, middle = (b - a) / 2, (a + b) / 2
        for x, w in zip(NODES, WEIGHTS):
            values = [w * half * v for v in f(middle + half * x)]
            total = values if total is None else [s + v for s, v in zip(total, values)]
    return total


def parts(alpha, beta, t):
    """L, dL/dalpha and dL/dbeta at t > 0 (S0)."""
    log, power = mp.log(t), t ** alpha
    if alpha == 1:
        return -t - 1j * beta * 2 / mp.pi * t * log, -t * log - 1j * beta * t * log ** 2 / mp.pi, -1j * 2 / mp.pi * t * log
    tangent = mp.mpf(0) if alpha == 2 else mp.tan(mp.pi * alpha / 2)
    slope = mp.pi / 2 * (1 + tangent ** 2)
    by_alpha = -power * log - 1j * beta * (slope * (t - power) - tangent * power * log)
    return -power - 1j * beta * tangent * (t - power), by_alpha, -1j * tangent * (t - power)


def scores(alpha, beta, x, width):
    a, b, y = mp.mpf(alpha), mp.mpf(beta), mp.mpf(x)

    def terms(t):
        log_phi, by_alpha, by_beta = parts(a, b, t)
        e = mp.exp(log_phi - 1j * y * t)
        return [mp.re(v) for v in (e, -1j * t * e, -t * t * e, by_alpha * e, by_beta * e)]

    f, first, second, d_alpha, d_beta = [v / mp.pi for v in integral(terms, end_of(a), width)]
    slope = first / f
    return {"log_pdf": mp.log(f), "x": slope, "xx": second / f - slope ** 2, "alpha": d_alpha / f, "beta": d_beta / f,
            "scale": -1 - y * slope}


def moments(alpha, beta, x, width):
    """E (X - x)_+ and E (x - X)_+, for alpha > 1."""
    a, b, y = mp.mpf(alpha), mp.mpf(beta), mp.mpf(x)

    def terms(t):  # next to 0 it is t^(alpha - 2), which is integrated by hand
        return [mp.mpf(0) if t < FIRST else -mp.re(mp.expm1(parts(a, b, t)[0] - 1j * y * t)) / t ** 2]

    found = integral(terms, end_of(a), width)[0] + FIRST ** (a - 1) / (a - 1)
    distance = 2 / mp.pi * (found + 1 / last_cut(end_of(a), width))
    mean = mp.mpf(0) if alpha == 2 else -b * mp.tan(mp.pi * a / 2)  # of S0 with location 0
    return {"above": (distance + mean - y) / 2, "below": (distance - mean + y) / 2}


def point(alpha, beta, x, width):
    return {**scores(alpha, beta, x, width), **(moments(alpha, beta, x, width) if alpha > 1 else {})}


def end_of(alpha):
    return mp.mpf(75) ** (1 / alpha)


def last_cut(end, width):
    cut = mp.mpf(1)
    while cut < end:
        cut += width
    return cut


def main():
    points = []
    for alpha, beta in SHAPES:
        for x in XS:
            one, two = (point(alpha, beta, x, mp.mpf(w)) for w in (0.9, 0.7))
            for name, value in one.items():
                assert abs(value - two[name]) < mp.mpf(10) ** -13 * max(1, abs(value)), (alpha, beta, x, name, value, two[name])
            points.append({"alpha_at": alpha, "beta_at": beta, "x_at": x, **{k: float(v) for k, v in one.items()}})
            print(alpha, beta, x, float(one["alpha"]), flush=True)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "stable_scores.json"), "w", encoding="utf-8") as file:
        json.dump({"made_by": "make_stable_scores.py", "points": points}, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
