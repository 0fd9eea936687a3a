"""medgrad.sample: the numbers of the command."""
import subprocess

import medgrad
import numpy as np
import pytest
from conftest import COMMAND

NOISES = [noise["name"] for noise in medgrad.methods()["noises"]]
GIVEN = {"stable": {"alpha": 1.3, "beta": 0.5, "form": "S1"}, "elliptical": {"alpha": 1.2}, "pareto": {"index": 2, "symmetric": False}}


@pytest.mark.parametrize("noise", NOISES)
def test_the_numbers_of_the_command(noise, tmp_path):
    given = GIVEN.get(noise, {})
    out = tmp_path / "x.npy"
    words = [word for name, value in given.items() for word in (f"--{name}", str(value).lower() if isinstance(value, bool) else str(value))]
    subprocess.run([COMMAND, "noise", "sample", "--model", noise, *words, "-n", "500", "-d", "7", "--seed", "5", "--stream", "2", "--out",
                    out, "--quiet"], check=True)
    found = medgrad.sample(noise, 500, 7, seed=5, stream=2, **given)
    assert np.array_equal(found, np.load(out))
    assert np.array_equal(found[:100], medgrad.sample(noise, 100, 7, seed=5, stream=2, threads=1, **given))


def test_shapes_types_and_new_numbers():
    assert medgrad.sample("cauchy").shape == (1, 1) and medgrad.sample("cauchy", 0, 3).shape == (0, 3)
    assert medgrad.sample("t:df=5", 2, dtype=np.float32).dtype == np.float32
    assert not np.array_equal(medgrad.sample("cauchy", 3), medgrad.sample("cauchy", 3))
    assert np.array_equal(medgrad.sample("stable", 9, seed=1, alpha=1.5).ravel(), medgrad.Stable(1.5).rvs(9, seed=1))


@pytest.mark.parametrize("call, sentence", [
    (lambda: medgrad.sample("gausian"), "Did you mean 'gaussian'?"),
    (lambda: medgrad.sample("stable"), "alpha"),
    (lambda: medgrad.sample("student-t", df=-1), "df is -1"),
    (lambda: medgrad.sample("cauchy", 1, 0), "d is 0; it must be a whole number, 1 or more."),
])
def test_mistakes(call, sentence):
    with pytest.raises(ValueError) as told:
        call()
    assert sentence in str(told.value)
