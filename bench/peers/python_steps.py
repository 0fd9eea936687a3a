#!/usr/bin/python3
"""The Python package as users call it, one thread. Prints JSON lines, as the C++ benchmarks do.

    python_steps.py steps N TENSORS ROUNDS     medgrad.torch's optimisers on a model of N floats: best_ms of a step
    python_steps.py aggregate FILE N D ROUNDS  the median of the rows in FILE (floats), in seconds: as a new array, in one of the caller's
                                               (both of rows in aligned large pages, as the C++ benchmark has them), and of rows as numpy
                                               has them, a little behind the beginning of a page
    python_steps.py calls                      what a call on vectors of ten numbers takes, in us, and importing, in s
"""
import json
import mmap
import subprocess
import sys
import time

import numpy as np

import medgrad


def best(function, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def steps(n, tensors, rounds):
    import torch

    import medgrad.torch as mt
    torch.set_num_threads(1)

    def model():
        sizes = [n * (i + 1) // tensors - n * i // tensors for i in range(tensors)]
        parameters = [torch.randn(size).requires_grad_() for size in sizes]
        for w in parameters:
            w.grad = torch.randn(w.shape)
        return parameters

    contenders = {"cclip": mt.MedianSGD(model(), 1e-3, "cclip", tau=1e-3), "vclip": mt.MedianSGD(model(), 1e-3, "vclip", tau=1e-3),
                  "median-adam": mt.MedianAdam(model(), 1e-3)}
    for optimizer in contenders.values():
        optimizer.step()  # touches every page once
    times = {name: [] for name in contenders}
    for _ in range(rounds):  # in turns, as the C++ benchmark has them
        for name, optimizer in contenders.items():
            times[name].append(best(optimizer.step, 1))
    for name, taken in times.items():
        yield {"what": name, "tensors": tensors, "best_ms": min(taken) * 1e3}


def in_large_pages(x):
    """A copy that begins with a page of 2 MiB."""
    page = 2 << 20
    memory = mmap.mmap(-1, x.nbytes + 2 * page)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(memory, np.uint8).ctypes.data % page
    copy = np.frombuffer(memory, x.dtype, x.size, start).reshape(x.shape)
    copy[...] = x
    return copy


def aggregate(file, n, d, rounds):
    plain = np.fromfile(file, np.float32).reshape(n, d)
    rows = in_large_pages(plain)
    out = medgrad.aggregate(rows, "median")
    ways = {"new": lambda: medgrad.aggregate(rows, "median"), "out": lambda: medgrad.aggregate(rows, "median", out=out),
            "plain": lambda: medgrad.aggregate(plain, "median")}
    for name, function in ways.items():
        yield {"what": name, "seconds": best(function, rounds)}


def calls(many=500):
    x, g = np.random.default_rng(0).standard_normal((5, 10)), np.ones(10)
    tracker = medgrad.Estimator("vclip", tau=0.1)
    for name, function in (("aggregate", lambda: medgrad.aggregate(x, "median")), ("update", lambda: tracker.update(g))):
        def run(function=function):
            for _ in range(many):
                function()
        yield {"what": name, "us": best(run, 200) / many * 1e6}
    code = "import numpy, time; start = time.perf_counter(); import medgrad; print(time.perf_counter() - start)"
    yield {"what": "import", "s": min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                                           check=True).stdout) for _ in range(7))}


if __name__ == "__main__":
    medgrad.set_threads(1)
    kind, arguments = sys.argv[1], sys.argv[2:]
    given = [argument if i == 0 and kind == "aggregate" else int(argument) for i, argument in enumerate(arguments)]
    for line in {"steps": steps, "aggregate": aggregate, "calls": calls}[kind](*given):
        print(json.dumps(line))
