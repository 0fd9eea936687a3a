"""Arrays of any library, in and out.

numpy arrays of float32 and float64 are used as they are. Other real types become float64. Masked entries are NaN. What is not
numpy's comes in by DLPack or the buffer protocol, without a copy. Results are torch tensors for torch tensors, and numpy arrays
for everything else.
"""
import sys

import numpy as np

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))  # in the machine's own order of bytes


def array(x, what="x"):
    """x as a numpy array of float32 or float64, without a copy where that is possible."""
    if type(x) is not np.ndarray:
        given, x = x, _foreign(x, what)
        if x.dtype == object and x.ndim == 0:
            raise TypeError(f"{what} is {type(given).__name__}; it must be an array of real numbers, or what can be made one.")
    if x.dtype in _FLOATS:
        return x if x.flags.aligned else x.copy()
    if x.dtype.kind in "biuf":
        return x.astype(np.float64)
    raise TypeError(f"{what} has the type {x.dtype}; it must hold real numbers.")


def _foreign(x, what):
    if isinstance(x, np.ma.MaskedArray):  # what is masked is missing
        if x.dtype.kind not in "biuf":
            return x.data
        kind = x.dtype if x.dtype in _FLOATS else np.float64
        return x.astype(kind).filled(np.nan)
    if isinstance(x, np.ndarray):
        return x
    if is_torch(x):
        tensor = x.detach()
        if tensor.device.type != "cpu":
            raise TypeError(f"{what} is on the device {tensor.device}; it must be on the CPU.")
        if tensor.layout != sys.modules["torch"].strided:
            raise TypeError(f"{what} is sparse, {tensor.layout}; it must be dense.")
        if str(tensor.dtype) == "torch.bfloat16":  # numpy has no such type
            tensor = tensor.float()
        return tensor.resolve_conj().resolve_neg().numpy()
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (RuntimeError, BufferError) as told:
            raise TypeError(f"{what} cannot be read: numpy says '{told}' It must be on the CPU, of a type that numpy has.") from None
    if isinstance(x, (list, tuple)) and len(x) > 0 and type(x[0]) is not np.ndarray and hasattr(x[0], "__dlpack__"):
        return np.stack(alike(x))  # numpy would make objects of them
    try:
        return np.asarray(x)
    except ValueError:  # numpy speaks of sequences
        raise ValueError(f"{what} has rows of different lengths; all must be alike.") from None


def alike(rows):
    """The arrays of a list, each in one piece, all of one shape and one type."""
    arrays = [array(row, f"row {i}") for i, row in enumerate(rows)]
    kind = arrays[0].dtype if all(x.dtype == arrays[0].dtype for x in arrays) else np.dtype(np.float64)
    for i, x in enumerate(arrays):
        if x.shape != arrays[0].shape:
            raise ValueError(f"row {i} has the shape {x.shape}, row 0 has {arrays[0].shape}; all must be alike.")
    return [np.asarray(x, dtype=kind, order="C") for x in arrays]


def is_array(x):
    """Is it an array by itself, of any library, that is there to be read without a copy?"""
    if isinstance(x, np.ndarray) or hasattr(x, "__dlpack__"):
        return True
    try:
        return memoryview(x).ndim > 0
    except (TypeError, BufferError):
        return False


def is_torch(x):
    """Is it a tensor of torch? Without loading torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def contiguous(x):
    """The array with contiguous rows: its last axis in one piece, and rows at distances that are not negative."""
    if x.flags.c_contiguous:
        return x
    if x.ndim == 2 and x.strides[1] == x.itemsize and x.strides[0] >= x.shape[1] * x.itemsize \
            and x.strides[0] % x.itemsize == 0 and x.flags.aligned:
        return x
    return np.ascontiguousarray(x)


def like(result, given):
    """A result as what came in, or what that is a list of."""
    while isinstance(given, (list, tuple)) and len(given) > 0:
        given = given[0]
    if is_torch(given):
        torch = sys.modules["torch"]
        tensor = torch.from_numpy(result)
        return tensor.to(given.dtype) if given.dtype.is_floating_point else tensor
    return result


def output(out, shape, kind, read):
    """Where a result of a shape and an element type goes: a flat array that can be computed into, None where there is none, and what
    is to be done with the result then. An array in one piece, of that type and apart from those that are read, needs no copy."""
    if is_torch(out):
        if out.requires_grad:
            raise ValueError("out requires gradients; it must be a tensor that does not.")
        if out.device.type != "cpu" or not out.is_floating_point() or out.layout != sys.modules["torch"].strided:
            raise TypeError(f"out is {out.dtype} on the device {out.device}; it must be dense, of real numbers, on the CPU.")
        target = out.numpy() if str(out.dtype) != "torch.bfloat16" and not out.is_neg() else None
        place = out
    else:
        place = target = _place(out)
        if not np.can_cast(kind, target.dtype, "same_kind"):
            raise TypeError(f"out has the type {target.dtype}; the result has {kind}.")
    if tuple(place.shape) != shape:
        raise ValueError(f"out has the shape {tuple(place.shape)}; the result has {shape}.")
    if target is not None and not target.flags.writeable:
        raise ValueError("out cannot be written to.")
    if target is None or target.dtype != kind or not target.flags.c_contiguous or not target.flags.aligned or \
            any(np.may_share_memory(target, x) for x in read):
        return None, lambda result: _copied(place, result)
    return target.reshape(-1), lambda result: _told(out)


def _place(out):
    """What a numpy array or a buffer has room for, as an array."""
    if isinstance(out, np.ndarray) and not isinstance(out, np.ma.MaskedArray):
        return out
    try:
        if not isinstance(out, np.ma.MaskedArray):
            return np.asarray(memoryview(out))
    except TypeError:
        pass
    raise TypeError(f"out is {type(out).__name__}; it must be a numpy array, a tensor of torch or a writable buffer.")


def _copied(out, result):
    if is_torch(out):
        out.copy_(sys.modules["torch"].from_numpy(result))
    else:
        np.copyto(out, result, casting="same_kind")


def _told(out):
    """Autograd is told that a tensor was written to, where it can be."""
    if is_torch(out):
        increment = getattr(sys.modules["torch"].autograd.graph, "increment_version", None)
        if increment is not None:
            increment(out)
