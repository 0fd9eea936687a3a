"""Online estimators."""
import numpy as np

from . import _core
from ._aggregate import policy
from ._arrays import array, is_torch, like


class Estimator:
    """Follows the centre of a stream of vectors: m <- m + what one step of the method makes of g - m.

    method is the name of an online method, as on the command line: "vclip" (the geometric median), "cclip" (the
    componentwise median), "momentum", "huber", ...; medgrad.methods()["online"] lists them with their formulas.
    Parameters are given by name: tau=0.1, mu=1.3; tau="auto" (with theta, level, rate) finds tau from the sizes of the
    increments. The dimension may be left out: the first vector has it, and the
    element type too.

    start="cold" takes m as 0 before every step. average=True also keeps the mean of all m. non_finite: "reject" (a
    ValueError) or "robust" (NaN leaves its component as it was).

    >>> import numpy as np
    >>> tracker = Estimator("vclip", tau=0.5)
    >>> for _ in range(100):
    ...     m = tracker.update(np.array([3.0, 4.0]))
    >>> m
    array([3., 4.])
    """

    def __init__(self, method="vclip", dimension=None, *, dtype=None, start="warm", average=False,
                 non_finite="reject", threads=0, **parameters):
        if start not in ("warm", "cold"):
            raise ValueError(f"start is {start!r}; it must be 'warm' or 'cold'.")
        policy(non_finite)
        self._made = (method, parameters, start == "cold", non_finite == "robust", average)
        self._threads = threads
        self._core = None
        self._shape = None
        self._kind = None
        self._torch = None
        if dimension is not None:
            shape = (int(dimension),) if np.ndim(dimension) == 0 else tuple(int(n) for n in dimension)
            self._begin(shape, np.dtype(dtype or np.float64))
        else:
            self._begin((1,), np.dtype(np.float64))  # wrong parameters are told at once
            self._core = None
            self._kind = np.dtype(dtype) if dtype is not None else None

    def _begin(self, shape, kind):
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"dtype is {kind}; it must be float32 or float64.")
        method, parameters, cold, robust, average = self._made
        size = int(np.prod(shape, dtype=np.int64))
        self._core = _core.Estimator(method, parameters, size, kind == np.float64, cold, robust, average)
        self._shape, self._kind = tuple(shape), kind

    def update(self, g):
        """Takes one vector in, and gives the new estimate: a view that the next update changes."""
        x = array(g, "g")
        if self._core is None:
            self._begin(x.shape, self._kind or x.dtype)
        if x.shape != self._shape:
            raise ValueError(f"g has the shape {x.shape}; the estimator has {self._shape}.")
        if x.dtype != self._kind or not x.flags.c_contiguous:
            x = np.ascontiguousarray(x, dtype=self._kind)
        self._core.update(x, self._threads)
        self._torch = g if is_torch(g) else None
        return self.estimate

    def _view(self, m):
        m = m.reshape(self._shape)
        if self._torch is None:
            return m
        return like(m.copy(), self._torch)  # torch has no arrays that cannot be written to

    @property
    def estimate(self):
        """m; None before the first vector where no dimension was given."""
        return None if self._core is None else self._view(self._core.estimate)

    @property
    def average(self):
        """The mean of m after each step; None unless average=True."""
        return self._view(self._core.average) if self._core is not None and self._made[4] else None

    @property
    def steps(self):
        """How many vectors there were."""
        return 0 if self._core is None else self._core.steps

    @property
    def info(self):
        """What the last step saw: increment_norm |g - m|, effective_beta, clipped_share, non_finite, tau, and size (S of
        tau="auto", else 0)."""
        return None if self._core is None else self._core.info

    def set_tau(self, tau):
        """tau of the next steps, or theta where tau is "auto", for schedules."""
        method, parameters = self._made[:2]
        automatic = parameters.get("tau", "auto" if ":tau=auto" in method else None) == "auto"
        parameters["theta" if automatic else "tau"] = tau
        if self._core is not None:
            self._core.set_tau(tau)

    def reset(self, m):
        """Starts over at m."""
        m = array(m, "m")
        if self._core is None:
            self._begin(m.shape, self._kind or m.dtype)
        if m.shape != self._shape:
            raise ValueError(f"m has the shape {m.shape}; the estimator has {self._shape}.")
        self._core.reset(np.ascontiguousarray(m, dtype=self._kind))

    def state_dict(self):
        """Everything that is needed to go on bit for bit, as plain values."""
        return {"shape": self._shape if self._core is not None else None,
                "dtype": None if self._core is None else self._kind.name,
                "state": None if self._core is None else self._core.save()}

    def load_state_dict(self, state):
        """Goes on where the other stopped; a ValueError where that was another method, and nothing changes then."""
        if state["state"] is None:
            self._core = None
            return
        other = Estimator.__new__(Estimator)
        other.__dict__.update(self.__dict__)
        other._begin(tuple(state["shape"]), np.dtype(state["dtype"]))
        other._core.load(state["state"])
        self._core, self._shape, self._kind = other._core, other._shape, other._kind

    def __getstate__(self):
        return {"made": self._made, "threads": self._threads, "kind": self._kind, "state": self.state_dict()}

    def __setstate__(self, saved):
        method, parameters, cold, robust, average = saved["made"]
        self.__init__(method, start="cold" if cold else "warm", non_finite="robust" if robust else "reject",
                      average=average, threads=saved["threads"], **parameters)
        self._kind = saved["kind"]
        self.load_state_dict(saved["state"])

    def __repr__(self):
        method, parameters = self._made[:2]
        given = "".join(f", {name}={value!r}" for name, value in parameters.items())
        return f"Estimator({method!r}{given}, steps={self.steps})"
