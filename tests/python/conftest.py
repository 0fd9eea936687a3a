import os
import pathlib
import subprocess

import numpy as np
import pytest

COMMAND = os.environ.get("MEDGRAD_COMMAND", str(pathlib.Path(__file__).parents[2] / "build/bin/medgrad"))


@pytest.fixture
def command(tmp_path):
    """Runs the command on an array and gives the array that it prints, to the last bit."""

    def run(*arguments, x):
        source, out = tmp_path / "x.npy", tmp_path / "out.npy"
        np.save(source, x)
        done = subprocess.run([COMMAND, *map(str, arguments), str(source), "--out", str(out), "--quiet"],
                              capture_output=True, text=True)
        if done.returncode == 2:
            raise ValueError(done.stderr.removeprefix("medgrad: ").strip())
        assert done.returncode == 0, done.stderr
        return np.load(out)

    return run
