"""Tutorial 4: is my gradient noise heavy-tailed?

medgrad.torch.probe goes through some batches twice, at the weights that the model has, and tells how far the gradient of a batch
is from the gradient of all, and how heavy the tails of that noise are. The same model is probed with two kinds of labels: with
Gaussian noise, where the mean is the right thing to follow and momentum is fine, and with noise of alpha = 1.3, where it is not.

    ./dev python examples/python/4_is_my_noise_heavy.py --figures docs/images
"""
import numpy as np
import torch

import medgrad
import medgrad.torch
from figures import draw, options


def probe(alpha, batches, batch=64):
    """What the probe says where the labels have stable noise."""
    torch.manual_seed(0)
    net = torch.nn.Linear(30, 1)
    noise = torch.from_numpy(medgrad.Stable(alpha, scale=0.5).rvs((batches, batch, 1), seed=2)).float()
    data = []
    for k in range(batches):
        x = torch.randn(batch, 30).sign()
        data.append((x, x.sum(dim=1, keepdim=True) / 5 + noise[k]))
    return medgrad.torch.probe(net, lambda model, pair: torch.nn.functional.mse_loss(model(pair[0]), pair[1]), data)


def main():
    given = options(__doc__, batches=400)
    found = {alpha: probe(alpha, given.batches) for alpha in (2.0, 1.3)}
    for alpha, noise in found.items():
        print(f"labels with alpha = {alpha:g}:\n  {noise.verdict}")
    spread = {alpha: np.max(noise.errors) / np.median(noise.errors) for alpha, noise in found.items()}
    print(f"The worst batch is {spread[2.0]:.1f} times as far off as the middle one with Gaussian labels, "
          f"and {spread[1.3]:.0f} times with the others.")
    assert found[2.0].components["quantiles"]["alpha"] > 1.9 and found[1.3].components["quantiles"]["alpha"] < 1.6
    assert spread[1.3] > 5 * spread[2.0], "heavy tails should be seen in the worst batch"

    def plot(figure, colour):
        axes = figure.subplots()
        for (alpha, noise), method in zip(found.items(), ("cclip", "momentum")):
            sizes = np.sort(noise.errors / np.median(noise.errors))
            axes.plot(sizes, 1 - np.arange(len(sizes)) / len(sizes), color=colour(method), label=f"labels with α = {alpha:g}")
        axes.set(xscale="log", yscale="log", xlabel="distance of a batch's gradient, in units of the median",
                 ylabel="share of batches beyond")
        axes.legend()

    draw(given.figures, "tutorial-4", plot)


if __name__ == "__main__":
    main()
