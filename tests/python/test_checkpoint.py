"""Files of the C++ side, read without libtorch: by the definition of the format, and by the package safetensors."""
import copy
import json
import pathlib
import struct
import subprocess

import medgrad
import numpy as np
import pytest
from conftest import COMMAND

BEGIN = b'{"__metadata__":{"checksum":"'


def checksum(data):
    """h <- (h ^ word) p, h <- h ^ (h >> 32) over words of eight bytes, zeros behind the last one, and then the length."""
    def mix(h, word):
        h = (h ^ word) * 0x9e3779b97f4a7c15 % 2**64
        return h ^ h >> 32

    h = 0
    for at in range(0, len(data) + 1, 8):  # a last word of what is left, of nothing too
        h = mix(h, int.from_bytes(data[at:at + 8], "little"))
    return f"{mix(h, len(data)):016x}"


def file_of(header, data):
    """A file whose checksum is right, whatever else is wrong with it."""
    text = json.dumps(header, separators=(",", ":")).encode()
    assert text.startswith(b'{"__metadata__":{')
    rest = b'",' + text[len(b'{"__metadata__":{'):]
    before = struct.pack("<Q", len(BEGIN) + 16 + len(rest)) + BEGIN
    return before + checksum(before + rest + data).encode() + rest + data


OPTIMIZER = {"kind": "MedianSGD", "steps": 3, "groups": [{"lr": 0.1, "parameters": [None, {"steps": 3}]}]}
HEADER = {"__metadata__": {"medgrad": "optimizer", "format": "1", "version": "0.1.0", "optimizer": json.dumps(OPTIMIZER)},
          "optimizer.0.1.m": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
          "optimizer.0.1.v": {"dtype": "BF16", "shape": [3], "data_offsets": [8, 14]},
          "optimizer.0.1.workers": {"dtype": "F64", "shape": [0, 2], "data_offsets": [14, 14]},
          "optimizer.0.1.one": {"dtype": "BF16", "shape": [], "data_offsets": [14, 16]}}
DATA = struct.pack("<2f4H", 1.5, -2.0, 0x3F80, 0xC000, 0x7F7F, 0xC000)


def changed(change):
    header = copy.deepcopy(HEADER)
    change(header)
    return file_of(header, DATA)


def test_a_file_by_its_definition(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(file_of(HEADER, DATA))
    read = medgrad.load_checkpoint(path)
    first, second = read["optimizer"]["groups"][0]["parameters"]
    assert (read["kind"], read["version"], first, second["steps"]) == ("optimizer", "0.1.0", None, 3)
    assert second["m"].dtype == np.float32 and second["m"].tolist() == [[1.5], [-2.0]]
    assert second["v"].dtype == np.float32 and second["v"].tolist() == [1.0, -2.0, float(np.float32(2**127 * (2 - 2**-7)))]
    assert second["workers"].shape == (0, 2) and second["one"].shape == () and second["one"] == -2
    second["m"][0] = 7  # ours to change


def test_every_damage_is_seen(tmp_path):
    path = tmp_path / "x.safetensors"
    good = file_of(HEADER, DATA)
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1:])
        with pytest.raises(ValueError, match="or is damaged"):
            medgrad.load_checkpoint(path)
    for bad in (b"", good[:20], good[:-1], good + b"\0", b"PK\3\4" * 100):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match="is not a checkpoint of medgrad, or is damaged"):
            medgrad.load_checkpoint(path)


@pytest.mark.parametrize("change", [
    lambda h: h["__metadata__"].pop("optimizer"),
    lambda h: h["__metadata__"].pop("medgrad"),
    lambda h: h["__metadata__"].update(medgrad="something else"),
    lambda h: h["__metadata__"].update(medgrad=["optimizer"]),
    lambda h: h["__metadata__"].update(optimizer="{"),
    lambda h: h["__metadata__"].update(optimizer="[" * 100_000),
    lambda h: h["__metadata__"].update(optimizer="[]"),
    lambda h: h["optimizer.0.1.m"].update(dtype="F33"),
    lambda h: h["optimizer.0.1.m"].update(shape=[3]),
    lambda h: h["optimizer.0.1.m"].update(shape=[-2, -1]),
    lambda h: h["optimizer.0.1.m"].update(data_offsets=[0, 80]),
    lambda h: h["optimizer.0.1.m"].update(data_offsets=[-8, 0]),
    lambda h: h.update({"optimizer.0.7.m": h.pop("optimizer.0.1.m")}),
    lambda h: h.update({"optimizer.0.0.m": h.pop("optimizer.0.1.m")}),
    lambda h: h.update({"other": h.pop("optimizer.0.1.m")}),
])
def test_what_makes_no_sense_is_damage_too(tmp_path, change):
    path = tmp_path / "x.safetensors"
    path.write_bytes(changed(change))
    with pytest.raises(ValueError, match="is not a checkpoint of medgrad, or is damaged"):
        medgrad.load_checkpoint(path)


def test_other_formats_and_earlier_versions(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(changed(lambda h: h["__metadata__"].update(format="2")))
    with pytest.raises(ValueError, match="has the format 2; this version reads only format 1"):
        medgrad.load_checkpoint(path)
    (tmp_path / "checkpoint.pt").write_bytes(b"PK")
    with pytest.raises(ValueError, match="checkpoint.pt was written by an earlier version of medgrad"):
        medgrad.load_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError):
        medgrad.load_checkpoint(tmp_path / "nothing")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A short run of training by the command, with an optimiser that keeps two tensors for every weight."""
    if not (pathlib.Path(COMMAND).parent / "medgrad-torch").exists():
        pytest.skip("the command was built without libtorch")
    folder = tmp_path_factory.mktemp("runs") / "run"
    subprocess.run([COMMAND, "train", "synthetic", "--size", "small", "--batch", "8", "--limit", "4", "--evaluation-limit", "1",
                    "--steps", "3", "--method", "median-adam", "--lr", "0.001", "--threads", "1", "--quiet", "--out",
                    str(folder)], check=True, capture_output=True)
    return folder


def test_a_run_of_the_command(run_folder):
    read = medgrad.load_checkpoint(run_folder)
    assert read["kind"] == "training" and read["version"] == medgrad.__version__
    assert read["config"] == json.loads((run_folder / "config.json").read_text())
    assert read["position"]["step"] == read["optimizer"]["steps"] == 3
    (group,) = read["optimizer"]["groups"]
    assert len(read["model"]) == len(group["parameters"]) > 5
    shapes = [w.shape for w in read["model"].values()]
    assert sorted(shapes) == sorted(p["m"].shape for p in group["parameters"] if p) and len(set(shapes)) > 2
    for one in group["parameters"]:
        assert one["steps"] == 3 and np.isfinite(one["m"]).all() and (one["v"] >= 0).all() and one["v"].any()


def test_the_package_safetensors_reads_it_too(run_folder):
    safetensors = pytest.importorskip("safetensors", reason="the package safetensors is not installed")
    from safetensors.numpy import load_file
    path = str(run_folder / "checkpoint.safetensors")
    mine = medgrad.load_checkpoint(path)
    theirs = load_file(path)
    assert {f"model.{name}" for name in mine["model"]} <= set(theirs)
    for name, w in mine["model"].items():
        np.testing.assert_array_equal(w, theirs[f"model.{name}"])
    np.testing.assert_array_equal(mine["optimizer"]["groups"][0]["parameters"][1]["v"], theirs["optimizer.0.1.v"])
    with safetensors.safe_open(path, framework="np") as file:
        assert json.loads(file.metadata()["position"]) == mine["position"]
