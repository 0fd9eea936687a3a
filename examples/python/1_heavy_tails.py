"""Tutorial 1: heavy tails break momentum, and a median does not.

A vector of ten numbers is seen a thousand times, each time with noise. Momentum averages what it sees. As long as the noise
is Gaussian (alpha = 2) that is the best one can do. Stable noise with a smaller alpha has heavier tails: its variance is
infinite, now and then one sample is a thousand times larger than the others, and an average goes wherever that one points.
VClip and CClip take steps of bounded length towards each sample. They follow a median, which does not care how far away an
outlier is.

    ./dev python examples/python/1_heavy_tails.py --figures docs/images
"""
import numpy as np

import medgrad
from figures import draw, options

METHODS = {"momentum": "momentum (mean)", "vclip": "VClip (geometric median)", "cclip": "CClip (componentwise median)"}


def final_error(method, alpha, seed, steps, d=10, tau=0.01):
    """|m - target| / |target| after so many steps."""
    target = np.random.default_rng(seed).standard_normal(d)
    samples = target + medgrad.Stable(alpha).rvs((steps, d), seed=seed)
    tracker = medgrad.Estimator(method, tau=tau)
    for g in samples:
        m = tracker.update(g)
    return np.linalg.norm(m - target) / np.linalg.norm(target)


def main():
    given = options(__doc__, seeds=20, steps=1000)
    inverse = np.array([0.5, 0.7, 0.9, 1.1, 1.3, 1.5])  # 1/alpha: 0.5 is Gaussian, 1 is Cauchy
    errors = {method: np.array([[final_error(method, 1 / x, seed, given.steps) for seed in range(given.seeds)] for x in inverse])
              for method in METHODS}
    print(f"{'1/alpha':>8}" + "".join(f"{name:>32}" for name in METHODS.values()))
    for i, x in enumerate(inverse):
        print(f"{x:8.1f}" + "".join(f"{np.median(errors[method][i]):32.3g}" for method in METHODS))
    light, heavy = (np.median(errors["momentum"][i]) for i in (0, -1))
    print(f"Momentum's error grows by a factor of {heavy / light:.0f} from Gaussian noise to alpha = 2/3; that of VClip "
          f"is {np.median(errors['vclip'][-1]) / np.median(errors['vclip'][0]):.2g} times what it was, that of CClip "
          f"{np.median(errors['cclip'][-1]) / np.median(errors['cclip'][0]):.2g} times.")
    assert heavy > 10 * light and np.median(errors["vclip"][-1]) < 2, "heavy tails should break momentum, and not a median"

    def plot(figure, colour):
        axes = figure.subplots()
        for method, name in METHODS.items():
            low, middle, high = np.quantile(errors[method], [0.1, 0.5, 0.9], axis=1)
            axes.plot(inverse, middle, color=colour(method), label=name)
            axes.fill_between(inverse, low, high, color=colour(method), alpha=0.2, linewidth=0)
        axes.set(yscale="log", xlabel="1/α: 0.5 is Gaussian, 1 is Cauchy", ylabel="relative error after 1000 steps")
        axes.legend(loc="upper left")

    draw(given.figures, "tutorial-1", plot)


if __name__ == "__main__":
    main()
