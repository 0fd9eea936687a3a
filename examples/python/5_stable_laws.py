"""Tutorial 5: stable laws beside scipy.

medgrad.Stable has the method names of scipy.stats: rvs, pdf, logpdf, cdf, sf, ppf, isf, fit. Where scipy.stats.levy_stable is right
both agree. It is not right everywhere: near alpha = 1 with a skewed law, and far out in the tails, where heavy-tailed noise is at
home. The truth is known there: a tail is Gamma(alpha) sin(pi alpha / 2) / pi (1 + beta) x^-alpha, the better the larger x is.

    ./dev python examples/python/5_stable_laws.py --figures docs/images
"""
import math
import warnings

import numpy as np
from scipy import stats

import medgrad
from figures import draw, options


def tail(alpha, beta, x):
    """P(X > x) for large x."""
    return math.gamma(alpha) * math.sin(math.pi * alpha / 2) / math.pi * (1 + beta) * np.asarray(x) ** -alpha


def main():
    given = options(__doc__, points=41)
    warnings.simplefilter("ignore")  # scipy says itself that its integrals did not converge
    alpha, beta = 1.5, 0.5
    ours = medgrad.Stable(alpha, beta)
    stats.levy_stable.parameterization = "S0"  # which stats.levy_stable(alpha, beta) would forget

    def theirs(name, x, a=alpha):
        return getattr(stats.levy_stable, name)(x, a, beta)

    x = np.linspace(-5, 5, given.points)
    difference = np.max(np.abs(ours.pdf(x) / theirs("pdf", x) - 1))
    print(f"alpha = {alpha:g}, beta = {beta:g}, |x| <= 5: densities agree to {difference:.1e}")
    assert difference < 1e-6

    far = 10.0 ** np.arange(1, 13)
    known = tail(alpha, beta, far)
    print(f"{'x':>8} {'P(X > x)':>12} {'medgrad is off by':>20} {'scipy is off by':>18}")
    for value, truth, mine, other in zip(far, known, ours.sf(far), theirs("sf", far)):
        print(f"{value:8.0e} {truth:12.3e} {abs(mine / truth - 1):20.1e} {abs(other / truth - 1):18.1e}")
    assert abs(ours.sf(1e12) / known[-1] - 1) < 1e-10

    # The S0 form is continuous in alpha: at 1 and next to 1 there must be nearly the same number.
    jumps = {}
    for name, pdf in (("medgrad", lambda a: medgrad.Stable(a, beta).pdf(0.7)), ("scipy", lambda a: theirs("pdf", 0.7, a))):
        jumps[name] = abs(pdf(1 + 1e-4) / pdf(1.0) - 1)
        print(f"{name}: the density at 0.7 changes by {jumps[name]:.1e} from alpha = 1 to 1.0001")
    assert jumps["medgrad"] < 1e-3

    def plot(figure, colour):
        left, right = figure.subplots(1, 2)
        for a, method in ((2.0, "truth"), (1.5, "cclip"), (1.0, "vclip"), (0.7, "momentum")):
            left.plot(x, medgrad.Stable(a).pdf(x), color=colour(method), label=f"α = {a:g}")
        left.set(xlabel="x", ylabel="density")
        left.legend()
        right.plot(far, np.abs(ours.sf(far) / known - 1), color=colour("vclip"), label="medgrad")
        right.plot(far, np.abs(theirs("sf", far) / known - 1), color=colour("momentum"), label="scipy")
        right.set(xscale="log", yscale="log", xlabel="x", ylabel="P(X > x): distance from the tail law")
        right.legend()

    draw(given.figures, "tutorial-5", plot)


if __name__ == "__main__":
    main()
