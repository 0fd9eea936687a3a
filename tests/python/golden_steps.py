"""Steps whose bits the C++ optimisers have too: see tests/torch/golden_test.cc, which makes the same numbers."""
import math

import medgrad.torch
import torch


def weight(k, i):
    return ((i * 11 + k * 7) % 13 - 6) / 4


def gradient(t, k, i):
    if (t, k, i) == (4, 0, 1):
        return math.nan
    if (t, k, i) == (6, 2, 3):
        return -math.inf
    return ((i * 37 + k * 101 + t * 53) % 29 - 14) / 8 * (32 if t % 3 == 2 else 1)


def checksum(tensors):
    """FNV-1a of the bytes."""
    value = 0xcbf29ce484222325
    for x in tensors:
        for byte in x.detach().numpy().tobytes():
            value = (value ^ byte) * 0x100000001b3 % 2**64
    return str(value)


def run(case, sizes, steps):
    """The checksums of w and m after so many steps of two groups."""
    kind = getattr(torch, case["type"])
    w = [torch.tensor([weight(k, i) for i in range(size)], dtype=kind).requires_grad_() for k, size in enumerate(sizes)]
    options = {name: case[name] for name in ("lr", "method", "weight_decay", "decoupled", "maximize", "scope") if name in case}
    groups = [{"params": w[:2]}, {"params": w[2:], "lr": case["lr"] / 2}]
    optimizer = getattr(medgrad.torch, case["optimizer"])(groups, **options)
    for t in range(steps):
        for k, x in enumerate(w):
            x.grad = torch.tensor([gradient(t, k, i) for i in range(len(x))], dtype=kind)
        optimizer.step()
    return checksum(w), checksum([optimizer.estimate(x) for x in w])
