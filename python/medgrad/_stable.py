"""Stable distributions, with the method names of scipy.stats."""
import numpy as np

from . import _core
from ._arguments import MOST, flag, float_type, one_of, real, seed_of, shape_of, text, threads_of, whole
from ._arrays import array


def _side(tail, words):
    return {"left": -1, "both": 0, "right": 1}[one_of("tail", tail, words)]


def _frozen(x):
    """A copy that nobody can write to: a law does not change."""
    x = np.array(x)
    x.flags.writeable = False
    return x


def _probabilities(q):
    """q, and nan for what is not from 0 to 1, as scipy has it."""
    q = np.asarray(array(q, "q"), dtype=np.float64)
    return np.where((q >= 0) & (q <= 1), q, np.nan)


def _counted(found, x):
    """What was found in x, and how many of its entries are not finite."""
    return {**found, "nan": int(np.count_nonzero(np.isnan(x))), "inf": int(np.count_nonzero(np.isinf(x)))}


def _seed_of(seed, random_state):
    if random_state is None:
        return seed_of(seed)
    if seed is not None:
        raise ValueError("seed and random_state both give a seed; give one of them.")
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return whole("random_state", random_state, 0, MOST)


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
        self._form = one_of("form", form, ("S0", "S1"))
        self._given = tuple(_frozen(array(p, name)) for p, name in
                            ((alpha, "alpha"), (beta, "beta"), (scale, "scale"), (location, "location")))
        self._make()

    def _make(self):
        parameters = np.broadcast_arrays(*(p.astype(np.float64) for p in self._given))
        shape = parameters[0].shape
        laws, which = np.zeros((4, 0)), np.zeros(0, np.intp)
        if parameters[0].size:
            laws, which = np.unique(np.stack([p.ravel() for p in parameters]), axis=1, return_inverse=True)
        self._laws = [_core.Stable(*map(float, column), self._form) for column in laws.T]  # each once
        self._which = which.reshape(shape)

    alpha = property(lambda self: self._given[0][()], doc="The index, 0 < alpha <= 2.")
    beta = property(lambda self: self._given[1][()], doc="The skewness, -1 <= beta <= 1.")
    scale = property(lambda self: self._given[2][()], doc="The scale, positive.")
    location = property(lambda self: self._given[3][()], doc="The location, in the law's form.")
    form = property(lambda self: self._form, doc="S0 or S1.")

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in ("_laws", "_which")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make()

    def _by_law(self, shape, function):
        """An array of a shape, made law by law: function(law, places, first) gives the entries of the law at these places of the
        flat array, of which `first` others come before."""
        which = np.broadcast_to(self._which, shape).ravel()
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(self._laws))).tolist()
        out = None
        for law, begin, end in zip(self._laws, [0, *ends], ends):
            if begin < end:
                part = function(law, order[begin:end], begin)
                out = np.empty(len(which), part.dtype) if out is None else out
                out[order[begin:end]] = part
        return np.empty(shape) if out is None else out.reshape(shape)

    def _map(self, function, x, threads):
        x, threads = np.asarray(array(x), dtype=np.float64), threads_of(threads)
        if self._which.ndim == 0:
            out = getattr(self._laws[0], function)(np.ascontiguousarray(x).ravel(), threads)
            return out.reshape(x.shape)[()]
        shape = np.broadcast_shapes(x.shape, self._which.shape)
        flat = np.broadcast_to(x, shape).ravel()
        return self._by_law(shape, lambda law, places, _: getattr(law, function)(flat[places], threads))

    def pdf(self, x, threads=0, tolerance=None):
        """The density f(x). With a tolerance (relative, 1e-12 or more) from a table: for many points of one law."""
        return self._map("pdf", x, threads) if tolerance is None else self._by_table(x, threads, tolerance, False)

    def logpdf(self, x, threads=0, tolerance=None):
        """log f(x), also where f(x) is too small for a double. tolerance as for pdf; on light tails each point still takes an integral."""
        return self._map("logpdf", x, threads) if tolerance is None else self._by_table(x, threads, tolerance, True)

    def _by_table(self, x, threads, tolerance, logarithm):
        if self._which.ndim != 0:
            raise ValueError("a table is for one law; with arrays of parameters leave out tolerance.")
        x = np.asarray(array(x), dtype=np.float64)
        out = _core.table(self._laws[0], np.ascontiguousarray(x).ravel(), real("tolerance", tolerance), logarithm,
                          threads_of(threads))
        return out.reshape(x.shape)[()]

    def cdf(self, x, threads=0):
        """P(X <= x)."""
        return self._map("cdf", x, threads)

    def sf(self, x, threads=0):
        """P(X > x), with all its digits in the right tail."""
        return self._map("sf", x, threads)

    def ppf(self, q, threads=0):
        """The x with cdf(x) = q; nan where q is no probability."""
        return self._map("ppf", _probabilities(q), threads)

    def isf(self, q, threads=0):
        """The x with sf(x) = q; nan where q is no probability."""
        return self._map("isf", _probabilities(q), threads)

    def logcdf(self, x, threads=0):
        """log P(X <= x); -inf where the probability is smaller than any double."""
        return self._log("cdf", "sf", x, threads)

    def logsf(self, x, threads=0):
        """log P(X > x); -inf where the probability is smaller than any double."""
        return self._log("sf", "cdf", x, threads)

    def _log(self, function, other, x, threads):
        probability, rest = self._map(function, x, threads), self._map(other, x, threads)
        with np.errstate(divide="ignore"):  # log 0 is meant
            return np.where(probability < 0.5, np.log(probability), np.log1p(-rest))[()]

    def median(self):
        """The median."""
        return self.ppf(0.5)

    def interval(self, confidence):
        """(lower, upper), between which X lies with this probability, and beyond each with the same."""
        confidence = np.asarray(array(confidence, "confidence"), dtype=np.float64)
        if not ((confidence >= 0) & (confidence <= 1)).all():
            raise ValueError(f"confidence is {confidence}; it must be from 0 to 1.")
        return self.ppf((1 - confidence) / 2), self.isf((1 - confidence) / 2)

    def mean(self):
        """E X: the location in S1 for alpha > 1. For alpha <= 1 there is none: nan, or for beta = 1 or -1 an infinity."""
        location, alpha, beta = (np.asarray(p, dtype=np.float64) for p in (self.to("S1").location, self.alpha, self.beta))
        none = np.where(np.abs(beta) == 1, np.copysign(np.inf, beta), np.nan)
        return np.where(alpha > 1, location, none)[()]

    def var(self):
        """The variance: 2 scale^2 for alpha = 2, otherwise inf."""
        alpha, scale = (np.asarray(p, dtype=np.float64) for p in (self.alpha, self.scale))
        return np.broadcast_to(np.where(alpha == 2, 2 * scale * scale, np.inf), self._which.shape).copy()[()]

    def std(self):
        """The standard deviation."""
        return np.sqrt(self.var())

    def _one(self, what):
        if self._which.ndim != 0:
            raise ValueError(f"{what} is for one law, not for arrays of parameters.")
        return self._laws[0]

    def scores(self, x, threads=0):
        """Derivatives of logpdf, as a dict of arrays of the shape of x: "x" and "xx" (first and second in x), "alpha", "beta",
        "scale", "location" (in the law's own form); and "logpdf" itself. At the ends of alpha and beta from inside.

        >>> round(float(Stable(2.0).scores(3.0)["x"]), 9)
        -1.5
        """
        law = self._one("scores")
        x = np.asarray(array(x), dtype=np.float64)
        rows = _core.scores(law, np.ascontiguousarray(x).ravel(), threads_of(threads))
        names = ("logpdf", "x", "xx", "alpha", "beta", "scale", "location")
        return {name: row.reshape(x.shape)[()] for name, row in zip(names, rows)}

    def tail_moment(self, q, p=1.0, tail="right"):
        """E (X - q)_+^p for the right tail, E (q - X)_+^p for the left one, their sum for "both"; inf where it is infinite."""
        law, q = self._one("tail_moment"), np.asarray(array(q), dtype=np.float64)
        out = _core.tail_moment(law, np.ascontiguousarray(q).ravel(), real("p", p), _side(tail, ("left", "both", "right")))
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
        return _core.absolute_moment(self._one("absolute_moment"), real("p", p))

    def rvs(self, size=None, seed=None, *, stream=0, dtype=np.float64, threads=0, random_state=None):
        """Random numbers of the shape `size`. The same (seed, stream) gives the same numbers, whatever the number of
        threads; without a seed they are new every time. Those of other streams are independent of them; arrays of laws
        share one. random_state, as in scipy: a seed, or a numpy Generator or RandomState, which draws one."""
        shape = self._which.shape if size is None else shape_of("size", size)
        seed = _seed_of(seed, random_state)
        stream, threads = whole("stream", stream, 0, MOST), threads_of(threads)
        kind = float_type(dtype)
        if self._which.ndim == 0:
            count = int(np.prod(shape, dtype=np.int64))
            return self._laws[0].rvs(count, seed, stream, 0, kind == np.float64, threads).reshape(shape)[()]
        shape = np.broadcast_shapes(shape, self._which.shape)
        return self._by_law(shape, lambda law, places, first: law.rvs(len(places), seed, stream, first, kind == np.float64,
                                                                      threads)).astype(kind, copy=False)

    def support(self):
        """Where the density is positive: (lower, upper)."""
        if self._which.ndim == 0:
            return self._laws[0].support()
        ends = np.array([law.support() for law in self._laws]).reshape(-1, 2)
        return tuple(ends[self._which, side] for side in (0, 1))

    def to(self, form):
        """The same law (or laws) written in the other form."""
        one_of("form", form, ("S0", "S1"))
        made = [law.converted(form) for law in self._laws]
        return Stable(*(np.array([one[name] for one in made], dtype=np.float64)[self._which]
                        for name in ("alpha", "beta", "scale", "location")), form=form)

    @classmethod
    def fit(cls, x, method="ml", profile=False):
        """The stable law of a sample in S0. `intervals` of the result has 95 % intervals, `errors` standard errors.

        method: "ml" (maximum likelihood), "cf" (weighted characteristic function: nearly as good, and faster),
        "koutrouvelis" and "kogon-williams" (regressions on the characteristic function), "quantiles" (McCulloch).
        profile: with "ml", intervals of alpha and beta from the profile of the likelihood. The smallest alpha that is looked for is
        0.2 with "ml", 0.5 with "quantiles" and 0.1 with the others. A fit of "ml" that ends at 0.2 has no errors: they are nan, and
        the intervals are whole ranges.
        fit(-x) is the mirror of fit(x), bit for bit. NaN is left out, and so are infinities with "ml", as no stable law gives them;
        for the others they are the farthest numbers. `n` of the result says how many numbers it rests on, `nan` and `inf` how many
        were not finite.
        """
        found = _core.fit_stable(np.ascontiguousarray(array(x), dtype=np.float64).ravel(), text("method", method),
                                 flag("profile", profile))
        law = cls(found["alpha"], found["beta"], found["scale"], found["location"])
        law.intervals = found["intervals"]
        law.errors = found["errors"]
        law.n, law.nan, law.inf = found["n"], found["missing"], found["infinite"]
        return law

    def _value(self):  # 0 is added, as -0 is 0
        return (self._form, *((p.shape, (p.astype(np.float64) + 0.0).tobytes()) for p in self._given))

    def __eq__(self, other):
        """Are form and parameters the same?"""
        return self._value() == other._value() if isinstance(other, Stable) else NotImplemented

    def __hash__(self):
        return hash(self._value())

    def __repr__(self):
        return (f"Stable(alpha={self.alpha}, beta={self.beta}, scale={self.scale}, location={self.location}, "
                f"form={self.form!r})")


def fit_student(x):
    """Student's t distribution of a sample by maximum likelihood: a dict with "degrees" (the tail index; inf for normal data),
    "scale", "location", their 95 % "intervals" and standard "errors" (of 1/degrees: "inverse_degrees"). What is not
    finite is left out, and counted as "nan" and "inf"; "n" numbers are left.

    >>> import numpy as np
    >>> fit_student(np.random.default_rng(0).standard_t(3, 10_000))["intervals"]["degrees"][0] < 3
    True
    """
    x = np.ascontiguousarray(array(x), dtype=np.float64).ravel()
    return _counted(_core.fit_student(x), x)


def fit_elliptical(x):
    """The elliptical stable law of n rows, log E exp(it'(X - location)) = -(t' shape t)^(alpha/2): a dict with "alpha", its 95 %
    "interval" and standard "error", "location" (componentwise median) and "shape" (Tyler's estimator, its size by likelihood). The
    shape is that of x / "unit", which is 1.0, or a power of two where squares of spreads would leave the range of doubles."""
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
    if x.ndim == 0 or location.ndim != 1 or location.size == 0 or shape.shape != 2 * location.shape or x.shape[-1] != location.size:
        raise ValueError(f"x, location and shape have the shapes {x.shape}, {location.shape} and {shape.shape}; they must be "
                         "(..., d), (d,) and (d, d).")
    out = _core.elliptical_logpdf(real("alpha", alpha), location, shape.ravel(), x.reshape((-1, location.size)))
    return out.reshape(x.shape[:-1])[()]


def fit_generalised_pareto(excesses):
    """The generalised Pareto law P(Y > y) = (1 + xi y / sigma)^(-1/xi) of excesses over a threshold, by maximum likelihood: a dict
    with "xi" and "sigma", their 95 % "intervals", and the "p_value" of Anderson and Darling's test. NaN is left
    out, an infinity counts as the largest finite one; "nan" and "inf" are how many there are."""
    x = np.ascontiguousarray(array(excesses), dtype=np.float64).ravel()
    return _counted(_core.fit_generalised_pareto(x), x)


def tail_index(x, batch=10, bootstrap=0, threads=0):
    """How heavy are the tails of a sample, and what to do about it?

    x: numbers (one axis), or vectors (two axes: n rows, of which the noise around their median is measured).
    batch: how many of them are combined at a time, for the comparison of mean and median.
    bootstrap: of numbers, how many samples of the fitted law are drawn for "p_value" (199 take some 0.3 s, divided among the
    threads); with 0 it is that of large samples.
    The result is a dict: "verdict" is a sentence; "infinite_variance" is "yes", "no" or "unclear"; "stable_fits" with "p_value" says
    whether a stable law is a fair description; "advice" is "mean", "median", "huber" or "unclear"; "bias" is the distance from
    the mean to the median, in spreads (of vectors without a sign). "mean_squared_errors" are those of "mean", "median", "huber" and,
    of vectors, "geometric_median" in such batches; "better_median" is then "geometric" or "componentwise". "tail_index" has its 95 %
    "interval"; "tails" has the peaks over a threshold of each tail: "xi" (1 / tail index) with its "interval", and the "moment" and
    "hill" estimates of it likewise. Of vectors, "components" has the heaviest ones, at most 32 of them: "index", "xi" and its
    "interval". "quantiles" (McCulloch's fit of a stable law), "hill" and "log_moment" are dicts with "alpha" and its "interval", or
    a sentence where the method cannot tell; "no_tail_index" names those whose alpha is no tail index, because no stable law fits.
    NaN is left out; an infinity counts as farther out than every finite number. "nan" and "inf" are how many there are.
    """
    batch, x = whole("batch", batch, 1, 2**53), array(x)
    bootstrap, threads = whole("bootstrap", bootstrap, 0, 10**6), threads_of(threads)
    if x.ndim > 2:
        raise ValueError(f"x has {x.ndim} axes; it must have one (numbers) or two (n rows of d entries).")
    if x.ndim == 2:
        if bootstrap > 0:
            raise ValueError(f"bootstrap is {bootstrap}; it is for numbers, and x has two axes.")
        found = _core.tail_summary_rows(np.ascontiguousarray(x), batch)
    else:
        found = _core.tail_summary(np.ascontiguousarray(x, dtype=np.float64).ravel(), batch, bootstrap, threads)
    return _counted(found, x)
