"""Stable distributions, with the method names of scipy.stats."""
import secrets

import numpy as np

from . import _core
from ._arrays import array


def _side(tail, words):
    if tail not in words:
        raise ValueError(f"tail is {tail!r}; it must be {', '.join(words[:-1])} or {words[-1]}.")
    return {"left": -1, "both": 0, "right": 1}[tail]


class Stable:
    """The stable law of index alpha, in Nolan's form S0 (continuous in all parameters) or S1.

        S0:  log E exp(itX) = ilt - |ct|^a (1 + i b tan(pi a/2) sign(t) (|ct|^(1-a) - 1))
        S1:  log E exp(itX) = ilt - |ct|^a (1 - i b tan(pi a/2) sign(t)),      a != 1,

    a = alpha in (0, 2], b = beta in [-1, 1], c = scale > 0, l = location. alpha = 2 is N(l, 2 c^2), alpha = 1 with
    beta = 0 the Cauchy distribution. Parameters may be arrays: they are broadcast against each other and against x.

    pdf, logpdf, cdf, sf, ppf, isf take arrays of any shape; relative accuracy is about 1e-12, in the far tails too.

    >>> float(Stable(1.0).cdf(1.0))
    0.75
    """

    def __init__(self, alpha, beta=0.0, scale=1.0, location=0.0, form="S0"):
        parameters = [array(p, name) for p, name in
                      ((alpha, "alpha"), (beta, "beta"), (scale, "scale"), (location, "location"))]
        self.alpha, self.beta, self.scale, self.location = (p[()] if p.ndim == 0 else p for p in parameters)
        self.form = form
        self._parameters = np.broadcast_arrays(*(p.astype(np.float64) for p in parameters))
        self._laws = {}
        if self._parameters[0].size:
            unique = np.unique(np.stack([p.ravel() for p in self._parameters]), axis=1)
            for column in unique.T:
                self._laws[tuple(column)] = _core.Stable(*map(float, column), form)

    def _map(self, function, x, threads):
        x = np.asarray(array(x), dtype=np.float64)
        if self._parameters[0].ndim == 0:
            (law,) = self._laws.values()
            out = getattr(law, function)(np.ascontiguousarray(x).ravel(), threads)
            return out.reshape(x.shape)[()]
        parts = np.broadcast_arrays(x, *self._parameters)
        out = np.empty(parts[0].shape)
        for key, law in self._laws.items():
            here = np.logical_and.reduce([p == k for p, k in zip(parts[1:], key)])
            out[here] = getattr(law, function)(np.ascontiguousarray(parts[0][here]), threads)
        return out

    def pdf(self, x, threads=0, tolerance=None):
        """The density f(x). With a tolerance (relative, 1e-12 or more) from a table: for many points of one law."""
        if tolerance is not None:
            return np.exp(self.logpdf(x, threads, tolerance))
        return self._map("pdf", x, threads)

    def logpdf(self, x, threads=0, tolerance=None):
        """log f(x), also where f(x) is no longer a number; tolerance as for pdf."""
        if tolerance is None:
            return self._map("logpdf", x, threads)
        if self._parameters[0].ndim != 0:
            raise ValueError("a table is for one law; with arrays of parameters leave out tolerance.")
        x = np.asarray(array(x), dtype=np.float64)
        (law,) = self._laws.values()
        return _core.table(law, np.ascontiguousarray(x).ravel(), float(tolerance), threads).reshape(x.shape)[()]

    def cdf(self, x, threads=0):
        """P(X <= x)."""
        return self._map("cdf", x, threads)

    def sf(self, x, threads=0):
        """P(X > x), with all its digits in the right tail."""
        return self._map("sf", x, threads)

    def ppf(self, q, threads=0):
        """The x with cdf(x) = q."""
        return self._map("ppf", q, threads)

    def isf(self, q, threads=0):
        """The x with sf(x) = q."""
        return self._map("isf", q, threads)

    def _one(self, what):
        if self._parameters[0].ndim != 0:
            raise ValueError(f"{what} is for one law, not for arrays of parameters.")
        (law,) = self._laws.values()
        return law

    def scores(self, x, threads=0):
        """Derivatives of logpdf, as a dict of arrays of the shape of x: "x" and "xx" (first and second in x), "alpha", "beta",
        "scale", "location" (in the law's own form); and "logpdf" itself. At the ends of alpha and beta from inside.

        >>> round(float(Stable(2.0).scores(3.0)["x"]), 9)
        -1.5
        """
        law = self._one("scores")
        x = np.asarray(array(x), dtype=np.float64)
        rows = _core.scores(law, np.ascontiguousarray(x).ravel(), threads)
        names = ("logpdf", "x", "xx", "alpha", "beta", "scale", "location")
        return {name: row.reshape(x.shape)[()] for name, row in zip(names, rows)}

    def tail_moment(self, q, p=1.0, tail="right"):
        """E (X - q)_+^p for the right tail, E (q - X)_+^p for the left one, their sum for "both"; inf where it is."""
        law, q = self._one("tail_moment"), np.asarray(array(q), dtype=np.float64)
        out = _core.tail_moment(law, np.ascontiguousarray(q).ravel(), float(p), _side(tail, ("left", "both", "right")))
        return out.reshape(q.shape)[()]

    def expected_shortfall(self, probability, tail="right"):
        """The mean of the farthest part, of the given probability, of the right or left tail; infinite for alpha <= 1.

        >>> bool(Stable(1.0).expected_shortfall(0.01) == float("inf"))
        True
        """
        law, q = self._one("expected_shortfall"), np.asarray(array(probability), dtype=np.float64)
        out = _core.expected_shortfall(law, np.ascontiguousarray(q).ravel(), _side(tail, ("left", "right")))
        return out.reshape(q.shape)[()]

    def absolute_moment(self, p):
        """E |X - location|^p, location in S1, in closed form; inf for p >= alpha < 2."""
        return _core.absolute_moment(self._one("absolute_moment"), float(p))

    def rvs(self, size=None, seed=None, *, stream=0, dtype=np.float64, threads=0):
        """Random numbers of the shape `size`. The same (seed, stream) gives the same numbers, whatever the number of
        threads; without a seed they are new every time."""
        shape = self._parameters[0].shape if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        seed = secrets.randbits(63) if seed is None else int(seed)
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"dtype is {kind}; it must be float32 or float64.")
        if self._parameters[0].ndim == 0:
            (law,) = self._laws.values()
            count = int(np.prod(shape, dtype=np.int64))
            return law.rvs(count, seed, stream, kind == np.float64, threads).reshape(shape)[()]
        parts = np.broadcast_arrays(np.empty(shape), *self._parameters)
        out = np.empty(parts[0].shape, kind)
        for i, (key, law) in enumerate(self._laws.items()):
            here = np.logical_and.reduce([p == k for p, k in zip(parts[1:], key)])
            out[here] = law.rvs(int(here.sum()), seed, stream + i, kind == np.float64, threads)
        return out

    def support(self):
        """Where the density is positive: (lower, upper)."""
        if self._parameters[0].ndim == 0:
            (law,) = self._laws.values()
            return law.support()
        ends = np.array([self._laws[tuple(map(float, p))].support() for p in zip(*(q.ravel() for q in self._parameters))])
        return tuple(ends.T.reshape((2,) + self._parameters[0].shape))

    def to(self, form):
        """The same law (or laws) written in the other form."""
        if form not in ("S0", "S1"):
            raise ValueError(f"form is {form!r}; it must be S0 or S1.")
        made = [self._laws[tuple(map(float, p))].converted(form) for p in zip(*(q.ravel() for q in self._parameters))]
        shape = self._parameters[0].shape
        columns = [np.array([one[name] for one in made]).reshape(shape)[()]
                   for name in ("alpha", "beta", "scale", "location")]
        return Stable(*columns, form=form)

    @classmethod
    def fit(cls, x, method="ml", profile=False):
        """The stable law of a sample in S0. `intervals` of the result has 95 % intervals, `errors` standard errors.

        method: "ml" (maximum likelihood), "cf" (weighted characteristic function: nearly as good, and faster),
        "koutrouvelis" and "kogon-williams" (regressions on the characteristic function), "quantiles" (McCulloch).
        profile: with "ml", intervals of alpha and beta from the profile of the likelihood. fit(-x) is the mirror of fit(x), bit for
        bit.
        """
        found = _core.fit_stable(np.ascontiguousarray(array(x), dtype=np.float64).ravel(), str(method), bool(profile))
        law = cls(found["alpha"], found["beta"], found["scale"], found["location"])
        law.intervals = found["intervals"]
        law.errors = found["errors"]
        law.n = found["n"]
        return law

    def __repr__(self):
        return (f"Stable(alpha={self.alpha}, beta={self.beta}, scale={self.scale}, location={self.location}, "
                f"form={self.form!r})")


def fit_student(x):
    """Student's t distribution of a sample by maximum likelihood: a dict with "degrees" (the tail index; inf for normal data),
    "scale", "location", their 95 % "intervals" and standard "errors" (of 1/degrees: "inverse_degrees").

    >>> import numpy as np
    >>> fit_student(np.random.default_rng(0).standard_t(3, 10_000))["intervals"]["degrees"][0] < 3
    True
    """
    return _core.fit_student(np.ascontiguousarray(array(x), dtype=np.float64).ravel())


def fit_elliptical(x):
    """The elliptical stable law of n rows, log E exp(it'(X - location)) = -(t' shape t)^(alpha/2): a dict with "alpha", its 95 %
    "interval" and standard "error", "location" (componentwise median) and "shape" (Tyler's estimator, its size by likelihood)."""
    x = array(x)
    if x.ndim != 2:
        raise ValueError(f"x has {x.ndim} axes; it must have two, n rows of d entries.")
    return _core.fit_elliptical(np.ascontiguousarray(x))


def elliptical_logpdf(x, alpha, location, shape):
    """log f of the elliptical stable law at points x (the last axis is a vector of d entries).

    >>> round(float(elliptical_logpdf([0.0, 0.0], 1.0, [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])), 6)  # log(1 / (2 pi))
    -1.837877
    """
    x, location, shape = (np.ascontiguousarray(array(v), dtype=np.float64) for v in (x, location, shape))
    if x.ndim == 0 or location.ndim != 1 or shape.shape != 2 * location.shape or x.shape[-1] != location.size:
        raise ValueError(f"x, location and shape have the shapes {x.shape}, {location.shape} and {shape.shape}; they must be "
                         "(..., d), (d,) and (d, d).")
    out = _core.elliptical_logpdf(float(alpha), location, shape.ravel(), x.reshape((-1, location.size)))
    return out.reshape(x.shape[:-1])[()]


def fit_generalised_pareto(excesses):
    """The generalised Pareto law P(Y > y) = (1 + xi y / sigma)^(-1/xi) of excesses over a threshold, by maximum likelihood: a dict
    with "xi" and "sigma", their 95 % "intervals", and the "p_value" of Anderson and Darling's test."""
    return _core.fit_generalised_pareto(np.ascontiguousarray(array(excesses), dtype=np.float64).ravel())


def tail_index(x, batch=10):
    """How heavy are the tails of a sample, and what to do about it?

    x: numbers (one axis), or vectors (two axes: n rows, of which the noise around their median is measured).
    batch: how many of them are combined at a time, for the comparison of mean and median.
    Gives a dict: "verdict" is a sentence; "infinite_variance" is "yes", "no" or "unclear"; "stable_fits" with "p_value" says
    whether a stable law is a fair description; "advice" is "mean", "median", "huber" or "unclear"; "bias" is the distance from
    the mean to the median, in spreads. "tail_index" has its 95 % "interval"; "tails" has the peaks over a threshold of each
    tail. "quantiles" (McCulloch's fit of a stable law), "hill" and "log_moment" are dicts with "alpha" and its "interval", or
    a sentence where the method cannot tell.
    """
    if isinstance(batch, bool) or int(batch) != batch or batch < 1:
        raise ValueError(f"batch is {batch!r}; it must be a whole number, 1 or more.")
    x = array(x)
    if x.ndim == 2:
        return _core.tail_summary_rows(np.ascontiguousarray(x), int(batch))
    return _core.tail_summary(np.ascontiguousarray(x, dtype=np.float64).ravel(), int(batch))
