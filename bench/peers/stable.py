"""The peers of stable laws: scipy, and the Chambers-Mallows-Stuck transform in numpy."""
import numpy as np
from scipy.stats import levy_stable


def cms(rng, alpha, beta, n, block):
    """n standard S0 variables, block by block, in the form that needs the fewest passes."""
    out = np.empty(n)
    t = 0.0 if beta == 0 or alpha == 2 else beta * np.tan(np.pi * alpha / 2)
    for i in range(0, n, block):
        m = min(block, n - i)
        u = (rng.random(m) - 0.5) * np.pi
        w = rng.standard_exponential(m)
        cos_u = np.cos(u)
        d = (1 - alpha) * u
        p = np.cos(d) + t * np.sin(d) if t else np.cos(d)
        b = (np.sin(alpha * u) + t * np.cos(alpha * u) if t else np.sin(alpha * u)) / cos_u
        out[i:i + m] = b * (p / (w * cos_u)) ** ((1 - alpha) / alpha) - t
    return out


def samplers(alpha, beta, n):
    """Name and function of each way to draw n samples; the last is tuned: blocks that stay in cache, and
    numpy's fastest generator."""
    rng, fast = np.random.default_rng(1), np.random.Generator(np.random.SFC64(1))
    return [
        ("scipy", lambda: levy_stable.rvs(alpha, beta, size=n, random_state=rng)),
        ("numpy", lambda: cms(rng, alpha, beta, n, block=n)),
        ("numpy, tuned", lambda: cms(fast, alpha, beta, n, block=8192)),
    ]


def functions(alpha, beta):
    """scipy's pdf and cdf on some of the points that medgrad_bench takes, and how many those are."""
    levy_stable.parameterization = "S1"
    x = np.linspace(-20, 20, 100)
    return len(x), {"pdf": lambda: levy_stable.pdf(x, alpha, beta), "cdf": lambda: levy_stable.cdf(x, alpha, beta)}
