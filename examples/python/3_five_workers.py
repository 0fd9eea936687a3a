"""Tutorial 3: five workers, two liars.

Five workers have data of the same kind; each sends the gradient of its own batch, and the server takes a step along one vector
that it makes of the five. Two of them lie: they send the gradient of the honest ones with the sign turned, three times as large.
The mean of the five then points uphill. A robust rule bears fewer than half of liars.

    ./dev python examples/python/3_five_workers.py --figures docs/images
"""
import numpy as np

import medgrad
from figures import draw, options

RULES = {"mean": ("mean", {}, "momentum"), "geometric median": ("geometric-median", {}, "vclip"),
         "componentwise median": ("median", {}, "cclip"), "nearest neighbours, then median": ("nnm+median", {"f": 2}, "huber")}


def learn(rule, parameters, steps, workers=5, liars=2, d=20, batch=10, lr=0.1):
    """Least squares from the gradients of the workers: |w - w*| / |w*| after every step."""
    random = np.random.default_rng(3)
    target = random.standard_normal(d)
    w, errors = np.zeros(d), []
    for _ in range(steps):
        gradients = []
        for _ in range(workers):
            x = random.standard_normal((batch, d))
            y = x @ target + 0.5 * random.standard_normal(batch)
            gradients.append(x.T @ (x @ w - y) / batch)
        gradients[:liars] = [-3 * np.mean(gradients[liars:], axis=0)] * liars
        w = w - lr * medgrad.aggregate(gradients, rule, **parameters)
        errors.append(np.linalg.norm(w - target) / np.linalg.norm(target))
    return errors


def main():
    given = options(__doc__, steps=200)
    curves = {name: learn(rule, parameters, given.steps) for name, (rule, parameters, _) in RULES.items()}
    for name, curve in curves.items():
        print(f"{name:<32} ends {'nowhere: it diverged' if curve[-1] > 10 else f'at a relative error of {curve[-1]:.3f}'}")
    assert curves["mean"][-1] > 10, "two liars of five should lead the mean astray"
    assert all(curve[-1] < 0.5 for name, curve in curves.items() if name != "mean"), "robust rules should bear them"

    def plot(figure, colour):
        axes = figure.subplots()
        for name, curve in curves.items():
            axes.plot(range(1, len(curve) + 1), curve, color=colour(RULES[name][2]), label=name)
        axes.set(yscale="log", xlabel="step", ylabel="relative error", ylim=(0.03, 30))
        axes.legend()

    draw(given.figures, "tutorial-3", plot)


if __name__ == "__main__":
    main()
