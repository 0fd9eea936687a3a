"""What lying workers send."""
import numpy as np

from . import _core
from ._aggregate import policy, rows_of
from ._arguments import flag, round_of, text, threads_of, whole
from ._arrays import contiguous, is_torch, like


def attack(x, name="sign-flip", *, f, against=None, non_finite="reject", threads=0, round=0, return_info=False,
           **parameters):
    """What f lying or broken workers send, given the vectors of the honest ones.

    x is an array whose first axis counts the vectors of the honest, shape (h, ...), or a list of h arrays or tensors. The result
    has the shape (f, ...), or (0, ...) for "silent", and is of the kind that came in: a torch tensor for torch tensors.

    name is the name of an attack, as on the command line: "sign-flip", "alie", "alie:strength=1.5", "gaussian";
    medgrad.methods()["attacks"] lists them with their formulas. Parameters are given by name: strength=10, seed=1.
    strength="optimal" (of "alie" and "ipm") is found against the rule `against`, "krum" or "nnm+median", which is told f
    unless it says otherwise ("krum:f=1"). round: for attacks that draw random numbers, the number of the attack, each of which
    draws its own. With return_info=True, (rows, info) is returned: info is a dict with the strength that was used and, for an
    optimal one, the distance of the rule's result from the mean of the honest.

    >>> import numpy as np
    >>> attack(np.array([[1., 2.], [3., 4.]]), "ipm", f=1, strength=10)
    array([[-20., -30.]])
    """
    f, return_info = whole("f", f, 0, 2**32), flag("return_info", return_info)
    if against is not None:
        text("against", against)
    rows, shape, given = rows_of(x)
    if isinstance(rows, list):
        rows = np.stack(rows)
    rows = contiguous(rows.reshape(len(rows), int(np.prod(shape, dtype=np.int64))))
    out, info = _core.attack(text("name", name), parameters, rows, f, against, policy(non_finite), threads_of(threads),
                             round_of(round))
    out = out.reshape((len(out), *shape))
    if is_torch(given):
        out = like(out, given)
    return (out, info) if return_info else out
