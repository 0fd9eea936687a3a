"""medgrad: track the median of noisy gradients, aggregate vectors of workers that may be wrong, measure heavy tails.

    aggregate   one robust centre of n vectors
    attack      what lying workers would send
    Estimator   follows the centre of a stream of vectors
    prox, project   proximal operators of distances, projections onto balls
    Stable, tail_index   stable distributions, and how heavy tails are
    sample      random rows of stable and other noise
    fit_student, fit_generalised_pareto   other laws with heavy tails
    fit_elliptical, elliptical_logpdf     stable laws of vectors
    theory      what the paper proves, as numbers
    methods     what there is, with formulas, parameters and defaults
    load_checkpoint  what `medgrad train` and the optimisers for libtorch have saved
    reproduce, run   the experiments of the paper, and one's own: the medgrad command, started from here
    medgrad.torch    optimisers and more for PyTorch, which is not loaded before it is asked for

Wrong values raise ValueError, and wrong types TypeError, with a sentence that says what would be right.
"""
import os as _os

import numpy as _np

from . import _core, theory
from ._aggregate import aggregate
from ._arguments import real as _real
from ._arguments import text as _text
from ._arguments import threads_of as _threads_of
from ._arrays import array as _array
from ._arrays import contiguous as _contiguous
from ._arrays import like as _like
from ._attack import attack
from ._checkpoint import load_checkpoint
from ._estimator import Estimator
from ._experiments import reproduce, run
from ._noise import sample
from ._stable import Stable, elliptical_logpdf, fit_elliptical, fit_generalised_pareto, fit_student, tail_index

__version__ = _core.__version__
__all__ = ["Estimator", "Stable", "aggregate", "attack", "elliptical_logpdf", "fit_elliptical", "fit_generalised_pareto", "fit_student",
           "load_checkpoint", "methods", "project", "prox", "reproduce", "run", "sample", "set_threads", "tail_index", "theory"]


def prox(distance, x, tau, **parameters):
    """argmin_y D(y) + |y - x|^2 / (2 tau), row by row: the last axis is a vector.

    distance is "squared", "l1", "l2", "lp" (p=3), "huber" (mu=1.3): medgrad.methods()["distances"].

    >>> import numpy as np
    >>> prox("l1", np.array([3.0, -0.5]), tau=1)
    array([2., 0.])
    """
    distance, tau = _text("distance", distance), _real("tau", tau)
    return _by_row(lambda rows: _core.prox(distance, parameters, tau, rows), x)


def project(x, q, radius):
    """The nearest point of the ball {|y|_q <= radius}, row by row: the last axis is a vector.

    >>> import numpy as np
    >>> project(np.array([3.0, 4.0]), q=2, radius=1)
    array([0.6, 0.8])
    """
    q, radius = _real("q", q), _real("radius", radius)
    return _by_row(lambda rows: _core.project(q, radius, rows), x)


def _by_row(function, given):
    x = _array(given)
    if x.ndim == 0:
        raise ValueError("x is a single number; it must be a vector, or rows of them.")
    rows = x.reshape((int(_np.prod(x.shape[:-1], dtype=_np.int64)), x.shape[-1]))
    return _like(function(_contiguous(rows)).reshape(x.shape), given)


def methods():
    """Every method by kind: a list of dicts with name, aliases, formula, meaning and parameters (name, meaning, range, default).

    "distances" are for prox(), "online" for Estimator and medgrad.torch, "rules" and "pre_aggregators" for aggregate(),
    "attacks" for attack(), "noises" for sample(). "workers", "optimizers" and "schedules" are words of the command and of
    experiments, which run() takes, and have no function of their own here.
    """
    return _core.methods()


def set_threads(threads):
    """How many threads a computation may use; 0 stands for as many as the machine has cores. Results do not depend on it."""
    _core.set_threads(_threads_of(threads))


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core.forget_threads)
