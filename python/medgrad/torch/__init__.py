"""medgrad for PyTorch: the paper's optimisers, a median filter for any other, robust reduction over workers.

    MedianSGD, ClippedSGD, MedianAdam   optimisers as those of torch.optim
    wrap               puts a median filter in front of any optimiser
    save_state, load_state   the state of an optimiser as a file in which nothing can run
    probe              how noisy the gradients of a model are, and how heavy their tails
    robust_all_reduce, ddp_hook, Crew   workers of which some may be wrong or dead

It is written in Python on top of medgrad and works with PyTorch from 1.13 on.
"""
import torch as _torch

from ._optim import ClippedSGD, MedianAdam, MedianSGD, TrackingOptimizer
from ._probe import GradientNoise, probe
from ._saving import load_state, save_state
from ._wrap import FilteredOptimizer, wrap

__all__ = ["ClippedSGD", "FilteredOptimizer", "GradientNoise", "MedianAdam", "MedianSGD", "TrackingOptimizer", "load_state",
           "probe", "save_state", "wrap"]

if _torch.distributed.is_available():
    from ._crew import Crew
    from ._reduce import WorkerLost
    from ._workers import ddp_hook, robust_all_reduce

    __all__ += ["Crew", "WorkerLost", "ddp_hook", "robust_all_reduce"]
