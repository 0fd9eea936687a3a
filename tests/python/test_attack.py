"""medgrad.attack: the same bits as the command, formulas, shapes, sentences for mistakes."""
import medgrad
import numpy as np
import pytest

ATTACKS = [attack["name"] for attack in medgrad.methods()["attacks"] if attack["name"] not in ("label-flip", "silent")]


def honest(n=9, d=13, dtype=np.float64):
    return np.random.default_rng(3).normal(1, 2, (n, d)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ATTACKS + ["alie:strength=1.5", "ipm:strength=10"])
def test_equals_the_command(name, dtype, command):
    x = honest(dtype=dtype)
    found = medgrad.attack(x, name, f=3)
    assert found.dtype == dtype and found.shape == (3, 13)
    assert np.array_equal(found, command("attack", name, "--f", 3, x=x), equal_nan=True)


def test_optimal_strengths(command):
    x = honest()
    found, info = medgrad.attack(x, "alie", f=2, strength="optimal", against="nnm+krum", return_info=True)
    assert np.array_equal(found, command("attack", "alie", "--f", 2, "--strength", "optimal", "--against", "nnm+krum", x=x))
    np.testing.assert_allclose(found[0], x.mean(0) - info["strength"] * x.std(0), rtol=1e-12)
    result = medgrad.aggregate(np.vstack([x, found]), "nnm+krum", f=2)
    assert np.linalg.norm(result - x.mean(0)) == pytest.approx(info["distance"], rel=1e-12)
    assert info["tried"] > 10


def test_formulas_and_shapes():
    x = honest()
    np.testing.assert_allclose(medgrad.attack(x, f=2), 2 * [-x.mean(0)], rtol=1e-14)
    np.testing.assert_allclose(medgrad.attack(x.reshape(9, 13, 1), "ipm", f=1, strength=3), -3 * x.mean(0).reshape(1, 13, 1))
    assert medgrad.attack(x.reshape(9, 13, 1), "silent", f=2).shape == (0, 13, 1)
    assert medgrad.attack(x, f=0).shape == (0, 13)
    assert not np.array_equal(medgrad.attack(x, "gaussian", f=1), medgrad.attack(x, "gaussian", f=1, round=1))
    assert not np.array_equal(medgrad.attack(x, "bit-flip", f=1), medgrad.attack(x, "bit-flip", f=1, seed=1))


def test_lists():
    x = honest()
    assert np.array_equal(medgrad.attack(list(x), "alie", f=2), medgrad.attack(x, "alie", f=2))
    assert medgrad.attack([row.reshape(13, 1) for row in x], f=2).shape == (2, 13, 1)
    assert np.array_equal(medgrad.attack([[1, 2], [3, 4]], f=1), [[-2, -3]])
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    found = medgrad.attack([torch.from_numpy(row).float() for row in x], f=1)
    assert isinstance(found, torch.Tensor) and found.dtype == torch.float32 and found.shape == (1, 13)


@pytest.mark.parametrize("arguments, sentence", [
    (dict(name="sign-flop", f=1), "Did you mean 'sign-flip'"), (dict(name="alie", f=-1), "f is -1; it must be a whole number, 0 or more."),
    (dict(name="alie", f=1, strength="much"), "strength is 'much'; it must be a number or optimal"),
    (dict(name="alie", f=1, strength="optimal"), "takes a rule to be found against"),
    (dict(name="alie", f=9, strength="optimal", against="krum"), "f is 9; with 18 rows it must be at most 7"),
    (dict(name="label-flip", f=1), "labels"), (dict(name="mimic", f=1, row=9), "row is 9"),
    (dict(name="ipm", f=1, non_finite="maybe"), "it must be 'reject' or 'robust'")])
def test_sentences(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        medgrad.attack(honest(), **arguments)
