"""Arguments that are wrong are told in a sentence: what they are, and what they must be."""
import json
import re
import subprocess

import medgrad
import numpy as np
import pytest
from conftest import COMMAND

X = np.arange(20.0).reshape(5, 4) % 7
WHOLE = r"it must be a whole number, 0 or more\.$"
CALLS = {
    "aggregate": lambda **given: medgrad.aggregate(X, **given),
    "attack": lambda **given: medgrad.attack(X, f=1, **given),
    "Estimator": lambda **given: medgrad.Estimator(**given),
    "pdf": lambda **given: medgrad.Stable(1.5).pdf(X, **given),
    "array of laws": lambda **given: medgrad.Stable([1.5, 1.6]).cdf(0.0, **given),
    "scores": lambda **given: medgrad.Stable(1.5).scores(X, **given),
    "sample": lambda **given: medgrad.sample("pareto", 3, **given),
    "rvs": lambda **given: medgrad.Stable(1.5).rvs(3, **given),
    "set_threads": lambda threads: medgrad.set_threads(threads),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_threads(call):
    for wrong in (-1, 1.5, 0.0, None, "a", True):
        with pytest.raises(ValueError if wrong == -1 else TypeError, match=f"^threads is {wrong!r}; {WHOLE}"):
            call(threads=wrong)
    for many in (1025, 10**9, 2**32 - 1, 2**70):
        with pytest.raises(ValueError, match=f"^threads is {many}; it must be at most 1024.$"):
            call(threads=many)
    call(threads=np.int64(2))
    medgrad.set_threads(0)


@pytest.mark.parametrize("call, name", [
    (lambda v: medgrad.aggregate(X, "bucketing+median", round=v), "round"),
    (lambda v: medgrad.attack(X, "gaussian", f=1, round=v), "round"),
    (lambda v: medgrad.attack(X, f=v), "f"),
    (lambda v: medgrad.Estimator("vclip", v), "dimension"),
    (lambda v: medgrad.Estimator("vclip", (2, v)), "dimension"),
    (lambda v: medgrad.Stable(1.5).rvs(v), "size"),
    (lambda v: medgrad.Stable(1.5).rvs((3, v)), "size"),
    (lambda v: medgrad.Stable(1.5).rvs(3, seed=v), "seed"),
    (lambda v: medgrad.Stable(1.5).rvs(3, random_state=v), "random_state"),
    (lambda v: medgrad.Stable(1.5).rvs(3, seed=1, stream=v), "stream"),
    (lambda v: medgrad.sample("gaussian", v), "n"),
    (lambda v: medgrad.sample("gaussian", seed=v), "seed"),
    (lambda v: medgrad.sample("gaussian", stream=v), "stream"),
    (lambda v: medgrad.theory.C_n(1.5, v), "n"),
])
def test_whole_numbers(call, name):
    for wrong in (-1, 1.5, "a"):
        with pytest.raises(ValueError if wrong == -1 else TypeError, match=f"^{name} is {wrong!r}; {WHOLE}"):
            call(wrong)
    if name in ("seed", "stream", "round", "random_state"):
        with pytest.raises(ValueError, match=f"^{name} is {2**64}; it must be at most {2**64 - 1}.$"):
            call(2**64)
        call(2**64 - 1)
    call(np.uint8(3))


@pytest.mark.parametrize("call, sentence", [
    (lambda: medgrad.aggregate(X, 5), "rule is 5; it must be text."),
    (lambda: medgrad.aggregate(X, None), "rule is None; it must be text."),
    (lambda: medgrad.aggregate(X, ["median"]), "rule is ['median']; it must be text."),
    (lambda: medgrad.aggregate(X, "krum", f=1 + 0j), "f is (1+0j); it must be a number or text."),
    (lambda: medgrad.aggregate(X, "krum", f=np.array([1, 2])), "f is array([1, 2]); it must be a number or text."),
    (lambda: medgrad.aggregate(X, "krum", f=None, g={}), "g is {}; it must be a number or text."),
    (lambda: medgrad.aggregate(X, return_info="no"), "return_info is 'no'; it must be True or False."),
    (lambda: medgrad.attack(X, f=1, return_info=[]), "return_info is []; it must be True or False."),
    (lambda: medgrad.attack(X, 5, f=1), "name is 5; it must be text."),
    (lambda: medgrad.attack(X, "alie", f=1, strength="optimal", against=5), "against is 5; it must be text."),
    (lambda: medgrad.Estimator(5), "method is 5; it must be text."),
    (lambda: medgrad.Estimator("vclip", average="yes"), "average is 'yes'; it must be True or False."),
    (lambda: medgrad.Estimator("vclip", dtype=np.float16), "dtype is float16; it must be float32 or float64."),
    (lambda: medgrad.Estimator("vclip").set_tau("x"), "tau is 'x'; it must be a number."),
    (lambda: medgrad.sample(5), "noise is 5; it must be text."),
    (lambda: medgrad.prox(5, X, 1), "distance is 5; it must be text."),
    (lambda: medgrad.prox("l1", X, "a"), "tau is 'a'; it must be a number."),
    (lambda: medgrad.prox("l1", X, np.ones(4)), "tau is array([1., 1., 1., 1.]); it must be a number."),
    (lambda: medgrad.project(X, 2, None), "radius is None; it must be a number."),
    (lambda: medgrad.Stable(1.5).pdf(X, tolerance="a"), "tolerance is 'a'; it must be a number."),
    (lambda: medgrad.Stable.fit(X, 5), "method is 5; it must be text."),
    (lambda: medgrad.tail_index(X, batch=1.5), "batch is 1.5; it must be a whole number, 1 or more."),
])
def test_types(call, sentence):
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        call()


@pytest.mark.parametrize("call, sentence", [
    (lambda: medgrad.aggregate([[1, 2], [3]]), "x has rows of different lengths; all must be alike."),
    (lambda: medgrad.elliptical_logpdf([], 1.5, [], np.zeros((0, 0))),
     "x, location and shape have the shapes (0,), (0,) and (0, 0); they must be (..., d), (d,) and (d, d)."),
    (lambda: medgrad.aggregate(X, non_finite=[]), "non_finite is []; it must be 'reject' or 'robust'."),
    (lambda: medgrad.Estimator(start=["hot"]), "start is ['hot']; it must be 'warm' or 'cold'."),
    (lambda: medgrad.Stable(1.5, form=5), "form is 5; it must be S0 or S1."),
    (lambda: medgrad.Stable([], form="s0"), "form is 's0'; it must be S0 or S1."),
    (lambda: medgrad.Stable(1.5).rvs(3, seed=1, random_state=2), "seed and random_state both give a seed; give one of them."),
    # What the command says of the same.
    (lambda: medgrad.aggregate(X, "krum:f=0", f=1), "'krum:f=0' and the argument f both give f; give it once."),
    (lambda: medgrad.aggregate(X, "geometric-median:max-iter=3", max_iter=4),
     "'geometric-median:max-iter=3' and the argument max-iter both give max-iter; give it once."),
    (lambda: medgrad.attack(X, "alie:strength=1", f=1, strength=2),
     "'alie:strength=1' and the argument strength both give strength; give it once."),
    (lambda: medgrad.Estimator("vclip:tau=0.1", 3, tau=5), "'vclip:tau=0.1' and the argument tau both give tau; give it once."),
    (lambda: medgrad.prox("huber:mu=2", X, 1, mu=3), "'huber:mu=2' and the argument mu both give mu; give it once."),
    (lambda: medgrad.aggregate(X, "median", center=np.ones(4)),
     "median does not take center; only what clips does: clipped-mean, centered-clipping, clip and arc."),
    (lambda: medgrad.prox("l2", np.array([np.inf, 1]), 1), "component 1 is inf; it must be finite."),
    (lambda: medgrad.prox("l1", np.array([[1, 2], [3, np.nan]]), 1), "row 2, component 2 is nan; it must be finite."),
    (lambda: medgrad.project(np.float32([1, -np.inf]), 2, 1), "component 2 is -inf; it must be finite."),
])
def test_values(call, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call()


def test_a_parameter_is_what_it_is_however_often_it_was_seen():
    rows = np.random.default_rng(0).random((9, 2))
    medgrad.aggregate(rows, "krum", f=1)
    with pytest.raises(ValueError, match="f is 'true'"):
        medgrad.aggregate(rows, "krum", f=True)  # equal to 1, and no number


def test_a_text_has_parameters():
    assert np.array_equal(medgrad.prox("huber:mu=2", X, 1), medgrad.prox("huber", X, 1, mu=2))
    assert np.array_equal(medgrad.aggregate(X, "trimmed-mean:f=1"), medgrad.aggregate(X, "trimmed-mean", f=1))
    assert np.array_equal(medgrad.aggregate(X, "trimmed-mean:f=1", f=None), medgrad.aggregate(X, "trimmed-mean", f=1))


def test_methods_are_all_of_the_registry():
    found = medgrad.methods()
    listed = json.loads(subprocess.run([COMMAND, "list", "--format", "json"], capture_output=True, check=True).stdout)
    assert [one["name"] for one in found["workers"]] == [one["name"] for one in listed["workers"]]
    assert [one["name"] for one in found["schedules"]] == [one["name"] for one in listed["schedules"]]
    for kind in found.values():
        assert all({"name", "formula", "meaning", "parameters"} <= set(one) for one in kind)
