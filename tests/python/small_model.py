"""A model of odd shapes, and gradients for it that are large in every third step."""
import numpy as np
import torch

SHAPES = [(7, 13), (13,), (1,), (3, 5, 11), (0, 4), (), (301,)]


def parameters(kind=torch.float64, device="cpu"):
    torch.manual_seed(1)
    return [torch.randn(shape, dtype=torch.float64).to(device, kind).requires_grad_() for shape in SHAPES]


def set_gradients(params, t):
    torch.manual_seed(1000 + t)
    for w in params:
        w.grad = (torch.randn(w.shape, dtype=torch.float64) * (9 if t % 3 == 2 else 1)).to(w.device, w.dtype)


def run(optimizer, params, steps=range(12)):
    for t in steps:
        set_gradients(params, t)
        optimizer.step()
    return [w.detach().clone() for w in params]


def flat(tensors):
    return np.concatenate([x.detach().numpy().ravel() for x in tensors])


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b))


def near(a, b, tolerance=1e-12):
    return all(torch.allclose(x.double(), y.double(), rtol=tolerance, atol=tolerance) for x, y in zip(a, b))
