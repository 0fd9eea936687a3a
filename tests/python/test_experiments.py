"""medgrad.reproduce and medgrad.run: the command, started from Python."""
import json
import pathlib

import medgrad
import numpy as np
import pytest
from conftest import COMMAND


def test_reproduce_gives_claims_and_rows(tmp_path):
    found = medgrad.reproduce("toy", out=tmp_path, seeds=2, no_svg=True)
    assert list(found) == ["toy"]
    assert found["toy"]["claims"] and {"claim", "holds", "evidence"} <= set(found["toy"]["claims"][0])
    assert any(row["method"].startswith("vclip") and row["metric"] == "final_relative_error" for row in found["toy"]["rows"])
    assert (pathlib.Path(found["toy"]["folder"]) / "results.csv").is_file() and (tmp_path / "index.html").is_file()


def test_run_takes_dicts_and_files(tmp_path):
    mine = {"experiment": "mine", "objective": {"name": "fixed-target", "d": 3}, "noise": {"name": "stable", "alpha": 1.5},
            "methods": [{"name": "vclip", "tau": 0.1}, {"name": "momentum", "tau": 0.1}], "steps": 20, "seeds": 3}
    (tmp_path / "file.json").write_text(json.dumps({**mine, "experiment": "file"}))
    found = medgrad.run(mine, tmp_path / "file.json", out=tmp_path / "out", no_svg=True)
    assert set(found) == {"mine", "file"}
    assert {row["method"] for row in found["mine"]["rows"]} == {row["method"] for row in found["file"]["rows"]}


def test_numbers_of_numpy_and_lists_of_names(tmp_path):
    mine = {"experiment": "mine", "objective": {"name": "fixed-target", "d": np.int64(3)},
            "methods": [{"name": "vclip", "tau": 0.1}], "noise": {"name": "stable", "alpha": np.array([1.5, 1.75])},
            "steps": np.int32(20), "seeds": 3}
    found = medgrad.run(mine, out=tmp_path, no_svg=True)["mine"]["rows"]
    assert len({json.dumps(row.get("alpha", row.get("inv_alpha"))) for row in found}) == 2
    for wrong in ({**mine, "steps": {1, 2}}, 5, None):
        with pytest.raises(TypeError, match="an experiment (has|is) .*; it must be"):
            medgrad.run(wrong, out=tmp_path)
    with pytest.raises(ValueError, match="'toi'"):
        medgrad.reproduce(["toi"], out=tmp_path)
    with pytest.raises(TypeError, match="a name is 5; it must be text."):
        medgrad.reproduce(5, out=tmp_path)


@pytest.mark.parametrize("call, sentence", [
    (lambda out: medgrad.reproduce("toi", out=out), "toi"),
    (lambda out: medgrad.run({"experiment": "x", "nose": {}}, out=out), "experiment 1.json:1: the experiment has no 'objective'."),
    (lambda out: medgrad.run(out=out), "run needs an experiment"),
    (lambda out: medgrad.run("nowhere.json", out=out), "nowhere.json"),
    (lambda out: medgrad.reproduce("toy", out=out, seeds=-1), "seeds"),
    (lambda out: medgrad.reproduce("toy", out=out, sedes=1), "sedes"),
])
def test_mistakes(call, sentence, tmp_path):
    with pytest.raises(ValueError) as told:
        call(tmp_path / "out")
    assert sentence in str(told.value) and "/tmp" not in str(told.value)


def test_a_command_that_is_not_there_or_another_one(tmp_path, monkeypatch):
    other = tmp_path / "medgrad"
    other.write_text("#!/bin/sh\necho medgrad 99.9\n")
    other.chmod(0o755)
    monkeypatch.setenv("MEDGRAD_COMMAND", str(other))
    monkeypatch.setattr(medgrad._experiments, "__file__", str(tmp_path / "a/b/c/_experiments.py"))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"the medgrad command .* is not there.*medgrad 99\.9"):
        medgrad.reproduce("toy", out=tmp_path / "out")
    monkeypatch.setenv("MEDGRAD_COMMAND", COMMAND)
    assert medgrad._experiments.command() == COMMAND
