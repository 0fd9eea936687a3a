"""Tutorial 2: one line changed in a PyTorch training loop.

A small network learns a function from labels, to each of which Cauchy noise was added: most are nearly right, some are wrong by
a thousand. The loop is the one that everybody writes. The two runs differ in the line that makes the optimiser. Momentum follows
the mean of the gradients, which the wrong labels own; medgrad.torch.MedianSGD follows their geometric median.

    ./dev python examples/python/2_one_line.py --figures docs/images
"""
import torch

import medgrad
import medgrad.torch
from figures import draw, options


def truth(x):
    return torch.sin(3 * x[:, :1]) * x[:, 1:]


def train(make_optimizer, steps, batch=32):
    """The mean squared distance from the truth while it trains."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = make_optimizer(net.parameters())
    noise = torch.from_numpy(medgrad.Stable(1.0, scale=0.1).rvs((steps, batch, 1), seed=1)).float()
    test = torch.rand(512, 2) * 2 - 1
    curve = []
    for step in range(steps):
        x = torch.rand(batch, 2) * 2 - 1
        y = truth(x) + noise[step]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        if step % 20 == 19:
            with torch.no_grad():
                curve.append((step + 1, torch.nn.functional.mse_loss(net(test), truth(test)).item()))
    return curve


def main():
    given = options(__doc__, steps=2000)
    torch.set_num_threads(1)
    runs = {
        "momentum": ("torch.optim.SGD(…, momentum=0.9)", train(lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), given.steps)),
        "vclip": ("medgrad.torch.MedianSGD(…)", train(lambda p: medgrad.torch.MedianSGD(p, lr=0.1, tau=0.1), given.steps)),
    }
    for name, curve in runs.values():
        print(f"{name:<36} ends at a mean squared distance of {curve[-1][1]:.3g} from the truth")
    ends = [curve[-1][1] for _, curve in runs.values()]
    assert ends[1] < ends[0] / 5, "the median should come much closer"

    def plot(figure, colour):
        axes = figure.subplots()
        for method, (name, curve) in runs.items():
            axes.plot(*zip(*curve), color=colour(method), label=name)
        axes.set(yscale="log", xlabel="step", ylabel="distance from the truth (MSE)")
        axes.legend()

    draw(given.figures, "tutorial-2", plot)


if __name__ == "__main__":
    main()
