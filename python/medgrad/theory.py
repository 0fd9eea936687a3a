"""What the paper proves, as numbers: moments of sample medians, step sizes, bounds.

All of it holds under assumptions that `medgrad theory` prints with the numbers, and the header medgrad/theory.h states.
"""
from . import _core

C_n = _core.C_n
E_abs = _core.E_abs
smallest_n = _core.smallest_n
norm_ratio = _core.norm_ratio
rho_alpha = _core.rho_alpha


def median_moments(alpha, n, beta=0.0, form="S0"):
    """Moments of the median of n stable variables, for every odd n of a list: dicts with C_n = E M^2, E_abs = E|M|,
    mean and variance; infinite where they are."""
    return _core.median_moments(float(alpha), float(beta), form, [int(one) for one in n])


def smooth(*, L, gap, T, delta_1=0.0, delta_2=0.0, sigma_1=0.0, sigma_2=0.0, epsilon=0.0, eta=None):
    """Sample median gradient descent on an L-smooth function: step sizes, and the bound on min E|grad|^2."""
    return _core.smooth(L, gap, T, delta_1, delta_2, sigma_1, sigma_2, epsilon, eta)


def lipschitz(*, G, D, T, delta=0.0, sigma=0.0, eta=None):
    """Biased subgradients on a convex G-Lipschitz function: step sizes, and the bound on E l(wbar_T) - inf l."""
    return _core.lipschitz(G, D, T, delta, sigma, eta)


def spp(*, G, distance, T, tau=None, n=None):
    """The stochastic proximal point method: E phi(mbar_T) - phi(m_*) <= distance^2/(2 tau T) + (1 + 1/T) tau G^2/2."""
    return _core.spp(G, distance, T, tau, n)
