"""What the paper proves, as numbers: moments of sample medians, step sizes, bounds.

Sample median gradient descent is w <- w - eta (m + e), m the median of n noisy gradients and e an error in computing it. With M
the median of n = 2r + 1 independent variables of density f and distribution function F,

    E h(M) = n!/(r!)^2 int h(x) (F(x) (1 - F(x)))^r f(x) dx,

and C_n = E M^2 of standard symmetric stable ones is all that the rates need to know of the noise. It is infinite where
alpha (n + 1)/2 <= 2. What the bounds assume is printed by `medgrad theory` with the numbers, and stated in medgrad/theory.h.
"""
from typing import Any, Dict, Iterable, List, Optional

from . import _core
from ._arguments import one_of as _one_of
from ._arguments import real as _real
from ._arguments import whole as _whole_number

__all__ = ["C_n", "E_abs", "lipschitz", "median_moments", "norm_ratio", "rho_alpha", "smallest_n", "smooth", "spp"]


def _whole(name: str, value: Any) -> int:
    return _whole_number(name, value, 0, 2**53)


def C_n(alpha: float, n: int) -> float:
    """E M^2 of the median M of n (odd) standard symmetric stable variables: inf where it is. n C_n -> 1/(4 f(0)^2).

    >>> round(C_n(2.0, 1), 12), C_n(1.1, 1)   # N(0, 2); no variance
    (2.0, inf)
    """
    return _core.C_n(_real("alpha", alpha), _whole("n", n))


def E_abs(alpha: float, n: int) -> float:
    """E|M| of the same median; E_abs(alpha, 1) = (2/pi) Gamma(1 - 1/alpha)."""
    return _core.E_abs(_real("alpha", alpha), _whole("n", n))


def smallest_n(alpha: float, order: float = 2.0) -> int:
    """The smallest odd n with alpha (n + 1)/2 > order, from which on E|M|^order is finite; 1 for alpha = 2.

    >>> smallest_n(1.1)
    3
    """
    return _core.smallest_n(_real("alpha", alpha), _real("order", order))


def norm_ratio(p: float, d: int) -> float:
    """sup |x|_p / |x|_2 over R^d: d^(1/p - 1/2) for p <= 2, 1 for p >= 2."""
    return _core.norm_ratio(_real("p", p), _whole("d", d))


def rho_alpha(alpha: float, d: int) -> float:
    """d^((2 - alpha)/(2 alpha)): how much larger than |.|_2 the scale of a sum of stable variables can be."""
    return _core.rho_alpha(_real("alpha", alpha), _whole("d", d))


def median_moments(alpha: float, n: Iterable[int], beta: float = 0.0, form: str = "S0") -> List[Dict[str, float]]:
    """Moments of the median of n stable variables, for every odd n of a list: dicts with n, C_n = E M^2, E_abs = E|M|, mean and
    variance; infinite where they are."""
    _one_of("form", form, ("S0", "S1"))
    return _core.median_moments(_real("alpha", alpha), _real("beta", beta), form, [_whole("n", one) for one in n])


def smooth(*, L: float, gap: float, T: int, delta_1: float = 0.0, delta_2: float = 0.0, sigma_1: float = 0.0,
           sigma_2: float = 0.0, epsilon: float = 0.0, eta: Optional[float] = None) -> Dict[str, float]:
    """Sample median gradient descent on an L-smooth function l with gap = l(w_0) - inf l: step sizes, and the bound

        min_{t<T} E|grad l(w_t)|^2 <= 4 gap/(eta T) + 8 L eta (epsilon^2 + delta_1^2 + sigma_1^2) + 4 (delta_1^2 + epsilon^2)

    for eta <= eta_max = 1/(8 L (1 + 2 sigma_2 + 2 delta_2)), where |E m - grad|^2 <= delta_1^2 + delta_2 |grad|^2,
    E|m - E m|^2 <= sigma_1^2 + sigma_2 |grad|^2 and E|e|^2 <= epsilon^2. Without eta it is eta_max/sqrt(T). "start", "spread" and
    "bias" are the three terms; "eta_best" has the least bound, "bound_best"."""
    numbers = {"delta_1": delta_1, "delta_2": delta_2, "sigma_1": sigma_1, "sigma_2": sigma_2, "epsilon": epsilon}
    return _core.smooth(_real("L", L), _real("gap", gap), _whole("T", T), *(_real(*one) for one in numbers.items()),
                        None if eta is None else _real("eta", eta))


def lipschitz(*, G: float, D: float, T: int, delta: float = 0.0, sigma: float = 0.0,
              eta: Optional[float] = None) -> Dict[str, float]:
    """Biased stochastic subgradients on a convex G-Lipschitz function l with D = |w_0 - w_*|: step sizes, and the bound

        E l(wbar_T) - inf l <= 2 D^2/(eta T) + eta (sigma^2 + (delta + G)^2)/2 + eta T delta^2/4,

    wbar_T = sum theta^t w_t / sum theta^t with theta = T/(T + 2), where |E g - u| <= delta for a subgradient u and
    E|g - E g|^2 <= sigma^2. "eta_best" has the least bound; "eta_simple" = 1/(delta T + sqrt(T)) needs neither D nor G."""
    return _core.lipschitz(_real("G", G), _real("D", D), _whole("T", T), _real("delta", delta), _real("sigma", sigma),
                           None if eta is None else _real("eta", eta))


def spp(*, G: float, distance: float, T: int, tau: Optional[float] = None, n: Optional[int] = None) -> Dict[str, float]:
    """The stochastic proximal point method, with distance = |m_0 - m_*|:

        E phi(mbar_T) - phi(m_*) <= distance^2/(2 tau T) + (1 + 1/T) tau G^2/2.

    Without tau it is "tau_best" = distance/(G sqrt(T + 1)). "start" and "spread" are the two terms. With n, for |.|_1 over n given
    vectors, also "distance_bound", n times the bound, on E|mbar_T - argmin phi|_2."""
    return _core.spp(_real("G", G), _real("distance", distance), _whole("T", T), None if tau is None else _real("tau", tau),
                     None if n is None else _whole("n", n))
