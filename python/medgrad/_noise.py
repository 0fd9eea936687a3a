"""Random rows of any noise."""
import numpy as np

from . import _core
from ._arguments import MOST, float_type, seed_of, text, threads_of, whole


def sample(noise, n=1, d=1, seed=None, *, stream=0, dtype=np.float64, threads=0, **parameters):
    """n rows of length d of a noise, as an array of the shape (n, d): the numbers of `medgrad noise sample`.

    noise is a name, as on the command line: "student-t", "pareto:index=2", "elliptical"; medgrad.methods()["noises"] lists
    them with their formulas. Parameters are given by name: df=3, scale=0.1. The same (seed, stream, d) gives the same rows,
    whatever the number of threads; without a seed they are new every time. Those of other streams are independent of them.

    >>> sample("student-t", 2, 3, seed=1, df=2.5).shape
    (2, 3)
    """
    n, d = whole("n", n, 0, 2**53), whole("d", d, 1, 2**32)
    return _core.sample(text("noise", noise), parameters, n, d, seed_of(seed), whole("stream", stream, 0, MOST),
                        float_type(dtype) == np.float64, threads_of(threads))
