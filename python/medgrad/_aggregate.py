"""Sample estimators and robust rules."""
import functools

import numpy as np

from . import _core
from ._arguments import flag, round_of, text, threads_of
from ._arrays import alike, array, contiguous, is_array, is_torch, like, output

_POLICIES = {"reject": _core.NonFinite.reject, "robust": _core.NonFinite.robust}


@functools.lru_cache(maxsize=256, typed=True)  # 1 is a number, and True and "1" are not
def _known(rule, names, *values):
    return _core.Rule(rule, dict(zip(names, values)))


def _rule(rule, parameters):
    try:
        return _known(rule, tuple(parameters), *parameters.values())
    except TypeError:  # something that cannot be looked up: let it be told what is wrong with it
        return _core.Rule(text("rule", rule), parameters)


def policy(non_finite):
    try:
        return _POLICIES[non_finite]
    except (KeyError, TypeError):
        raise ValueError(f"non_finite is {non_finite!r}; it must be 'reject' or 'robust'.") from None


def rows_of(x):
    """(array or list of arrays, shape of the result, what came in)."""
    if isinstance(x, (list, tuple)) and len(x) > 0 and is_array(x[0]):
        rows = alike(x)
        return rows, rows[0].shape, x[0]
    matrix = array(x)
    if matrix.ndim == 0:
        raise ValueError("x is a single number; it must be the rows of a matrix, or a list of arrays.")
    return matrix, matrix.shape[1:], x


def aggregate(x, rule="median", *, f=None, weights=None, center=None, non_finite="reject", threads=0, round=0,
              out=None, return_info=False, **parameters):
    """One centre of n vectors, by a robust rule.

    x is an array whose first axis counts the vectors, shape (n, ...), or a list of n arrays or tensors of one shape. The
    result has the shape of one of them and is of the kind that came in: a torch tensor for torch tensors.

    rule is the name of a sample estimator, with what is done to the rows before it, as on the command line:
    "median", "geometric-median", "krum", "nnm+median", "arc+bucketing+geometric-median", "trimmed-mean:f=2".
    medgrad.methods()["rules"] and ["pre_aggregators"] list them with their formulas. Parameters are given by name,
    f=2, clip=1.5, max_iter=100; f="auto" where nobody knows how many vectors are wrong.

    weights: n positive numbers, where the rule takes them. center: the vector to clip around, for rules that clip.
    non_finite: "reject" (a ValueError that names row and column) or "robust" (a NaN is missing, an infinity is as large as a number
    can be). threads: 0 stands for what medgrad.set_threads() has set; the result does not depend on it. round: for rules that
    shuffle, the number of the aggregation, each of which has a shuffle of its own. out: an array, tensor or writable buffer of the
    result's shape, which is filled and returned; after an error it may hold anything. With return_info=True, (result, info) is
    returned: info is a dict with iterations, objective, certified gap, stop, and the counts of nan and inf.

    >>> import numpy as np
    >>> aggregate(np.array([[0., 0.], [1., 1.], [100., 1.]]), "median")
    array([1., 1.])
    """
    if f is not None:
        parameters["f"] = f
    made = _rule(rule, parameters)
    if threads.__class__ is not int or threads:
        threads = threads_of(threads)
    if round.__class__ is not int or round:
        round = round_of(round)
    if return_info.__class__ is not bool:
        return_info = flag("return_info", return_info)
    rows, shape, given = rows_of(x)
    if weights is not None:
        weights = np.ascontiguousarray(array(weights, "weights"), dtype=np.float64).ravel()
    if isinstance(rows, list):
        compute, kind = _core.aggregate_list, rows[0].dtype
    else:
        compute, kind = _core.aggregate_matrix, rows.dtype
        if rows.ndim != 2:
            rows = rows.reshape(rows.shape[0], int(np.prod(shape, dtype=np.int64)))
        rows = contiguous(rows)
    if center is not None:
        center = np.ascontiguousarray(array(center, "center"), dtype=kind).ravel()
    if out is None:
        room = None
    else:
        read = [*(rows if isinstance(rows, list) else [rows]), *(x for x in (weights, center) if x is not None)]
        room, finish = output(out, shape, kind, read)
    result = compute(made, rows, weights, center, room, policy(non_finite), threads, round, return_info)
    if return_info:
        result, info = result
    if len(shape) != 1:
        result = result.reshape(shape)
    if out is not None:
        finish(result)
        result = out
    elif is_torch(given):
        result = like(result, given)
    return (result, info) if return_info else result
