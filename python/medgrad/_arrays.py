"""Arrays of any library, in and out.

numpy arrays of float32 and float64 are used as they are. Other real types become float64. Masked entries are NaN. What is not
numpy's comes in by DLPack or the buffer protocol, without a copy, and results go back as what came in: a torch tensor for
torch tensors.
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
        return np.from_dlpack(x)
    try:
        return np.asarray(x)
    except ValueError:  # numpy speaks of sequences
        raise ValueError(f"{what} has rows of different lengths; all must be alike.") from None


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
    """A result as what came in."""
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
    elif isinstance(out, np.ndarray) and not isinstance(out, np.ma.MaskedArray):
        if not np.can_cast(kind, out.dtype, "same_kind"):
            raise TypeError(f"out has the type {out.dtype}; the result has {kind}.")
        target = out
    else:
        raise TypeError(f"out is {type(out).__name__}; it must be a numpy array or a tensor of torch.")
    if tuple(out.shape) != shape:
        raise ValueError(f"out has the shape {tuple(out.shape)}; the result has {shape}.")
    if target is not None and not target.flags.writeable:
        raise ValueError("out cannot be written to.")
    if target is None or target.dtype != kind or not target.flags.c_contiguous or not target.flags.aligned or \
            any(np.may_share_memory(target, x) for x in read):
        return None, lambda result: _copied(out, result)
    return target.reshape(-1), lambda result: _told(out)


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
