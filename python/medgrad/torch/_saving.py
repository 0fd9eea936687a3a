"""States of optimisers as files in which nothing can run."""
import json
import math
import os
from typing import Union

import numpy as np
import torch

from .._checkpoint import load_checkpoint, write

# Types of the format, and what numpy reads their bytes as.
_TYPES = {torch.float64: ("F64", None), torch.float32: ("F32", None), torch.float16: ("F16", None), torch.bfloat16: ("BF16", torch.int16),
          torch.int64: ("I64", None), torch.int32: ("I32", None), torch.int16: ("I16", None), torch.int8: ("I8", None),
          torch.uint8: ("U8", None), torch.bool: ("BOOL", None)}


def save_state(optimizer: torch.optim.Optimizer, path: Union[str, "os.PathLike[str]"]) -> None:
    """Saves what an optimiser's state_dict() says: one of medgrad.torch, one that is wrapped, or any other of PyTorch.

    The file is one of safetensors with JSON, as those of `medgrad train`: nothing in it can run, it is replaced in one step and
    has a checksum. medgrad.load_checkpoint reads it without PyTorch. A TypeError where the state has something other than
    numbers, texts, lists, dicts and dense tensors.
    """
    tensors = {}
    text = json.dumps(parted(optimizer.state_dict(), "state", tensors), allow_nan=False)
    write(path, "state", {"state": text}, tensors)


def load_state(optimizer: torch.optim.Optimizer, path: Union[str, "os.PathLike[str]"]) -> None:
    """Goes on, bit for bit, where the optimiser that was saved stopped. A file that is damaged, or of another optimiser, method or
    model, is a ValueError and changes nothing."""
    read = load_checkpoint(path)
    if read["kind"] != "state":
        raise ValueError(f"{os.fspath(path)} is no state of an optimiser of PyTorch; medgrad.load_checkpoint reads it.")
    optimizer.load_state_dict(_with_tensors(read["state"]))


def parted(x, place, tensors):
    """What JSON can say of x; tensors go to `tensors` by their places."""
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or x.dtype not in _TYPES:
            raise TypeError(f"{place} is {x.dtype}, {x.layout}; it must be dense, of real numbers.")
        form, view = _TYPES[x.dtype]
        x = x.detach().cpu().contiguous()
        tensors[place] = form, np.asarray((x if view is None else x.view(view)).numpy(), order="C")
        return {"tensor": place}
    if isinstance(x, dict):
        return {str(name): parted(one, f"{place}.{name}", tensors) for name, one in x.items()}
    if isinstance(x, (list, tuple)):
        return [parted(one, f"{place}.{i}", tensors) for i, one in enumerate(x)]
    if isinstance(x, float) and not math.isfinite(x):
        return {"number": str(float(x))}
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise TypeError(f"{place} is {type(x).__name__}; a saved state has numbers, texts, lists, dicts and tensors.")


def _with_tensors(x):
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x)
    if isinstance(x, dict):
        return {name: _with_tensors(one) for name, one in x.items()}
    return [_with_tensors(one) for one in x] if isinstance(x, list) else x
