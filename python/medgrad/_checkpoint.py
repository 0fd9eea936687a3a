"""Checkpoints of training and saved optimisers, as `medgrad train` and the libtorch optimisers write them."""
import json
import math
import mmap
import os
import struct

import numpy as np

from . import _core

_BEGIN = b'{"__metadata__":{"checksum":"'  # and sixteen digits: the checksum of all other bytes
_AT = 8 + len(_BEGIN)
_FORMATS = {"training": "1", "optimizer": "1"}
_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "I32": np.int32,
          "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def load_checkpoint(path):
    """What `medgrad train` or a libtorch optimiser of medgrad has saved, as a dict of numbers, texts and numpy arrays.

    path: the folder of a run, or a file. Of a run there is "kind": "training", "config" (everything its numbers depend on),
    "position" (epoch, step, evaluations, ...), "schedule", "model" (the weights by name) and "optimizer"; of an optimiser
    "kind": "optimizer" and "optimizer". ["optimizer"]["groups"][0]["parameters"][3] has "steps", "m" and whatever else is
    kept of the fourth parameter of the first group; None before its first step.

    The file is one of safetensors, with a checksum: nothing in it can run, and a ValueError says where it is damaged.
    bfloat16 comes as float32, which has all of its values. The weights of a PyTorch model of the same names:

        model.load_state_dict({name: torch.from_numpy(w) for name, w in load_checkpoint("run")["model"].items()})
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        folder, path = path, os.path.join(path, "checkpoint.safetensors")
        if not os.path.exists(path) and os.path.exists(os.path.join(folder, "checkpoint.pt")):
            raise ValueError(f"{os.path.join(folder, 'checkpoint.pt')} was written by an earlier version of medgrad, and this "
                             "one does not read it.")
    damaged = f"{path} is not a checkpoint of medgrad, or is damaged."
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < _AT + 16:
            raise ValueError(damaged)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[8:_AT] != _BEGIN or data[_AT:_AT + 16].decode("latin-1") != _core.checksum(data, _AT, 16):
                raise ValueError(damaged)
            try:
                texts, tensors = _read(data)
                kind = texts["medgrad"]
                if texts["format"] == _FORMATS[kind]:
                    return _put_together(kind, texts, tensors)
            except (KeyError, TypeError, ValueError, IndexError, RecursionError):
                raise ValueError(damaged) from None
            raise ValueError(f"{path} has the format {texts['format']}; this version reads only format {_FORMATS[kind]}.")


def _read(data):
    """The texts and the arrays of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    texts = header.pop("__metadata__")
    return texts, {name: _array(entry, data, 8 + length) for name, entry in header.items()}


def _array(entry, data, start):
    kind, shape, (begin, end) = np.dtype(_TYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    if not 0 <= begin <= end <= len(data) - start or (end - begin) != math.prod(shape) * kind.itemsize:
        raise ValueError
    x = np.frombuffer(data[start + begin:start + end], kind.newbyteorder("<")).astype(kind).reshape(shape)
    return (x.astype(np.uint32) << 16).view(np.float32) if entry["dtype"] == "BF16" else x


def _put_together(kind, texts, tensors):
    result = {"kind": kind, "version": texts["version"], "optimizer": json.loads(texts["optimizer"])}
    if kind == "training":
        result.update({name: json.loads(texts[name]) for name in ("config", "position", "schedule")}, model={})
    groups = result["optimizer"]["groups"]
    for name, x in tensors.items():
        what, _, rest = name.partition(".")
        if what == "model":
            result["model"][rest] = x
        elif what == "optimizer":
            group, parameter, part = rest.split(".")
            groups[int(group)]["parameters"][int(parameter)][part] = x
        else:
            raise ValueError
    return result
