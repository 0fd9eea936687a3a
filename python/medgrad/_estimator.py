"""Online estimators."""
import functools
import threading

import numpy as np

from . import _core
from ._aggregate import policy
from ._arguments import flag, float_type, one_of, real, shape_of, text, threads_of
from ._arrays import array, is_torch, like


def _alone(method):
    """One call of an estimator's at a time: its core computes without the GIL."""
    @functools.wraps(method)
    def locked(self, *given, **named):
        with self._lock:
            return method(self, *given, **named)
    return locked


class Estimator:
    """Follows the centre of a stream of vectors: m <- m + what one step of the method makes of g - m.

    method is the name of an online method, as on the command line: "vclip" (the geometric median), "cclip" (the
    componentwise median), "momentum", "huber", ...; medgrad.methods()["online"] lists them with their formulas.
    Parameters are given by name: tau=0.1, mu=1.3; tau="auto" (with theta, level, rate) finds tau from the sizes of the
    increments. dimension (or shape) and dtype may be left out; they are then those of the first vector.

    start="cold" takes m as 0 before every step. average=True also keeps the mean of all m. non_finite: "reject" (a
    ValueError) or "robust" (a NaN leaves its component of m as it was). Threads may share an estimator: their calls take turns.

    >>> import numpy as np
    >>> tracker = Estimator("vclip", tau=0.5)
    >>> for _ in range(100):
    ...     m = tracker.update(np.array([3.0, 4.0]))
    >>> m
    array([3., 4.])
    """

    def __init__(self, method="vclip", dimension=None, *, dtype=None, start="warm", average=False,
                 non_finite="reject", threads=0, **parameters):
        one_of("start", start, ("warm", "cold"), repr)
        policy(non_finite)
        self._made = (text("method", method), parameters, start == "cold", non_finite == "robust", flag("average", average))
        self._threads = threads_of(threads)
        self._asked = (None if dimension is None else shape_of("dimension", dimension),
                       None if dtype is None else float_type(dtype))  # of the caller, for good
        self._tau = None  # set_tau before there is a core
        self._torch = None
        self._lock = threading.RLock()
        self._new((1,), np.dtype(np.float64))  # wrong parameters are told at once
        self._start_over()

    def _new(self, shape, kind):
        method, parameters, cold, robust, average = self._made
        core = _core.Estimator(method, parameters, int(np.prod(shape, dtype=np.int64)), kind == np.float64, cold, robust, average)
        if self._tau is not None:
            core.set_tau(self._tau)
        return core

    def _begin(self, shape, kind):
        self._core, self._shape, self._kind = self._new(shape, kind), shape, kind

    def _start_over(self):
        self._core, (self._shape, self._kind) = None, self._asked
        if self._shape is not None:
            self._begin(self._shape, self._kind or np.dtype(np.float64))

    def update(self, g):
        """Takes in one vector and returns the new estimate: a view that the next update changes."""
        x = array(g, "g")
        with self._lock:
            if self._core is None:
                self._begin(x.shape, self._kind or x.dtype)
            if x.shape != self._shape:
                raise ValueError(f"g has the shape {x.shape}; the estimator has {self._shape}.")
            if x.dtype != self._kind or not x.flags.c_contiguous:
                x = np.ascontiguousarray(x, dtype=self._kind)
            self._core.update(x, self._threads)
            self._torch = g if is_torch(g) else None
            return self._view(self._core.estimate)

    def _view(self, m):
        m = m.reshape(self._shape)
        if self._torch is None:
            return m
        return like(m.copy(), self._torch)  # torch has no arrays that cannot be written to

    @property
    @_alone
    def estimate(self):
        """m; None before the first vector where no dimension was given."""
        return None if self._core is None else self._view(self._core.estimate)

    @property
    @_alone
    def average(self):
        """The mean of m after each step; None unless average=True."""
        return self._view(self._core.average) if self._core is not None and self._made[4] else None

    @property
    @_alone
    def steps(self):
        """How many vectors have come in."""
        return 0 if self._core is None else self._core.steps

    @property
    @_alone
    def info(self):
        """What the last step saw: increment_norm |g - m|, effective_beta, clipped_share, non_finite, tau, and size (S of
        tau="auto", else 0)."""
        return None if self._core is None else self._core.info

    @_alone
    def set_tau(self, tau):
        """tau of the next steps, or theta where tau is "auto", for schedules. A ValueError where the method has no tau."""
        tau = real("tau", tau)
        (self._core or self._new((1,), np.dtype(np.float64))).set_tau(tau)
        self._tau = tau

    @_alone
    def reset(self, m):
        """Starts over at m."""
        m = array(m, "m")
        if self._core is None:
            self._begin(m.shape, self._kind or m.dtype)
        if m.shape != self._shape:
            raise ValueError(f"m has the shape {m.shape}; the estimator has {self._shape}.")
        self._core.reset(np.ascontiguousarray(m, dtype=self._kind))

    @_alone
    def state_dict(self):
        """Everything that is needed to go on bit for bit, as plain values."""
        return {"shape": self._shape if self._core is not None else None,
                "dtype": None if self._core is None else self._kind.name,
                "state": None if self._core is None else self._core.save()}

    @_alone
    def load_state_dict(self, state):
        """Goes on where the estimator that was saved stopped. A state of another method, or of vectors of another shape or type than
        this one was made for, is a ValueError and changes nothing."""
        try:
            saved, shape, kind = state["state"], state["shape"], state["dtype"]
            if saved is not None:
                saved, shape, kind = bytes(memoryview(saved)), shape_of("shape", shape), float_type(kind)
        except (KeyError, TypeError, ValueError):
            raise ValueError("the state has not the entries 'shape', 'dtype' and 'state'; it must be what state_dict() gave.") \
                from None
        if saved is None:
            self._start_over()
            return
        for name, mine, other in zip(("shape", "type"), self._asked, (shape, kind)):
            if mine is not None and mine != other:
                raise ValueError(f"the state is of vectors of the {name} {other}; the estimator was made for {mine}.")
        core = self._new(shape, kind)
        core.load(saved)
        self._core, self._shape, self._kind = core, shape, kind

    @_alone
    def __getstate__(self):
        return {"made": self._made, "asked": self._asked, "tau": self._tau, "threads": self._threads, "state": self.state_dict()}

    def __setstate__(self, saved):
        self._made, self._asked, self._tau, self._threads = (saved[name] for name in ("made", "asked", "tau", "threads"))
        self._torch = None
        self._lock = threading.RLock()
        self._start_over()
        self.load_state_dict(saved["state"])

    @_alone
    def __repr__(self):
        core = self._core or self._new((1,), np.dtype(np.float64))
        name, parameters = _core.named(*self._made[:2])
        if core.tau != 0:
            parameters[core.tau_name] = repr(core.tau).removesuffix(".0")
        line = ":".join([name, *(f"{key}={value}" for key, value in parameters.items())])
        return f"Estimator({line!r}, steps={self.steps})"
