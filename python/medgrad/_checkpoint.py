"""Files of safetensors with a checksum: what `medgrad train`, the optimisers for libtorch and medgrad.torch have saved."""
import contextlib
import json
import math
import mmap
import os
import secrets
import struct

import numpy as np

from . import _core

_BEGIN = b'{"__metadata__":{"checksum":"'  # and sixteen digits: the checksum of all other bytes
_AT = 8 + len(_BEGIN)
_FORMATS = {"training": "1", "optimizer": "1", "state": "1"}
_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "I32": np.int32,
          "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def load_checkpoint(path):
    """What `medgrad train`, a libtorch optimiser of medgrad or medgrad.torch.save_state has saved, as a dict of numbers, texts and
    numpy arrays.

    path: the folder of a run, or a file. Of a run there is "kind": "training", "config" (everything its numbers depend on),
    "position" (epoch, step, evaluations, ...), "schedule", "model" (the weights by name) and "optimizer"; of a libtorch
    optimiser "kind": "optimizer" and "optimizer"; of one of PyTorch "kind": "state" and "state", its state_dict().
    ["optimizer"]["groups"][0]["parameters"][3] has "steps", "m" and whatever else is kept of the fourth parameter of the first
    group; None before its first step.

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
    x = np.frombuffer(data[start + begin:start + end], kind.newbyteorder("<")).astype(kind)
    return ((x.astype(np.uint32) << 16).view(np.float32) if entry["dtype"] == "BF16" else x).reshape(shape)


def _put_together(kind, texts, tensors):
    if kind == "state":
        return {"kind": kind, "version": texts["version"], "state": _joined(json.loads(texts["state"]), tensors)}
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


def _joined(x, tensors):
    """The inverse of parted() of medgrad/torch/_saving.py."""
    if isinstance(x, list):
        return [_joined(one, tensors) for one in x]
    if not isinstance(x, dict):
        return x
    if set(x) == {"tensor"}:
        return tensors[x["tensor"]]
    if set(x) == {"number"}:  # one that is not finite
        return float(x["number"])
    numbered = all(name.isdigit() for name in x)  # parameters by their numbers
    return {int(name) if numbered else name: _joined(one, tensors) for name, one in x.items()}


def write(path, kind, texts, tensors):
    """Replaces a file in one step. tensors: (type, array in one piece) by name."""
    header = {"__metadata__": {"checksum": "0" * 16, "medgrad": kind, "format": _FORMATS[kind], "version": _core.__version__, **texts}}
    order, end = sorted(tensors, key=lambda name: -tensors[name][1].itemsize), 0  # each then begins at a multiple of its width
    for name in order:
        form, x = tensors[name]
        header[name] = {"dtype": form, "shape": list(x.shape), "data_offsets": [end, end + x.nbytes]}
        end += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = os.path.realpath(os.fspath(path))
    beside = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        with open(beside, "x+b") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in order:
                file.write(tensors[name][1].reshape(-1).view(np.uint8))
            file.flush()
            with mmap.mmap(file.fileno(), 0) as data:
                data[_AT:_AT + 16] = _core.checksum(data, _AT, 16).encode()
                data.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
