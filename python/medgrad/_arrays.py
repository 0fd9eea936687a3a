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
        x = _foreign(x, what)
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
        if str(tensor.dtype) == "torch.bfloat16":  # numpy has no such type
            tensor = tensor.float()
        return tensor.resolve_neg().numpy()
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
