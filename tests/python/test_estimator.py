"""medgrad.Estimator, prox and project: the same bits as the command; states that go on anywhere."""
import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading

import medgrad
import numpy as np
import pytest

METHODS = [method["name"] for method in medgrad.methods()["online"]]
NEEDS = {"lp": {"p": 3}}


def stream(dtype=np.float64):
    return np.random.default_rng(1).standard_t(2, (50, 13)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", METHODS)
def test_equals_the_command(method, dtype, command):
    parameters = NEEDS.get(method, {})
    options = [part for name, value in parameters.items() for part in (f"--{name}", value)]
    estimator = medgrad.Estimator(method, **parameters)
    for g in stream(dtype):
        estimator.update(g)
    assert np.array_equal(estimator.estimate, command("estimate", method, *options, x=stream(dtype)).ravel())


@pytest.mark.parametrize("distance, parameters", [("squared", {}), ("l1", {}), ("l2", {}), ("lp", {"p": 1.5}),
                                                  ("huber", {"mu": 0.7})])
def test_prox_equals_the_command(distance, parameters, command):
    x = stream()
    options = [part for name, value in parameters.items() for part in (f"--{name}", value)]
    assert np.array_equal(medgrad.prox(distance, x, 0.3, **parameters),
                          command("prox", distance, "--tau", 0.3, *options, x=x))


def test_project_equals_the_command(command):
    assert np.array_equal(medgrad.project(stream(), 3, 0.5), command("project", "--q", 3, "--radius", 0.5, x=stream()))
    assert medgrad.project(np.zeros((2, 0, 3)), 2, 1).shape == (2, 0, 3)


def test_an_average_a_cold_start_and_info():
    x = stream()
    estimator = medgrad.Estimator("cclip", tau=0.1, average=True)
    estimates = [estimator.update(g).copy() for g in x]
    assert np.allclose(estimator.average, np.mean(estimates, axis=0), atol=1e-14)
    assert estimator.steps == 50 and 0 < estimator.info["clipped_share"] <= 1
    cold = medgrad.Estimator("vclip", tau=1.0, start="cold")
    assert np.isclose(np.linalg.norm(cold.update(100 * x[0])), 1)
    assert medgrad.Estimator("vclip").average is None


def test_views_cannot_be_written_and_shapes_stay():
    estimator = medgrad.Estimator("momentum", tau=1)
    m = estimator.update(np.ones((2, 3), np.float32))
    assert m.shape == (2, 3) and m.dtype == np.float32
    with pytest.raises(ValueError):
        m[0, 0] = 7
    with pytest.raises(ValueError, match="g has the shape"):
        estimator.update(np.ones(6))
    del estimator
    assert m[0, 0] == 0.5  # the view keeps the memory


def _continue(estimator):
    for g in stream()[25:]:
        estimator.update(g)
    return estimator.estimate.copy()


@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy", "fork", "spawn"])
def test_goes_on_bit_for_bit(how):
    whole = medgrad.Estimator("huber", tau=0.3, mu=1.3)
    half = medgrad.Estimator("huber", tau=0.3, mu=1.3)
    for i, g in enumerate(stream()):
        whole.update(g)
        if i < 25:
            half.update(g)
    if how in ("fork", "spawn"):
        medgrad.aggregate(np.random.default_rng(0).random((9, 10_000)))  # threads that a child will not have
        with multiprocessing.get_context(how).Pool(1) as pool:
            found = pool.apply(_continue, (half,))
    elif how == "state_dict":
        other = medgrad.Estimator("huber", tau=0.3, mu=1.3)
        other.load_state_dict(half.state_dict())
        found = _continue(other)
    else:
        found = _continue(pickle.loads(pickle.dumps(half)) if how == "pickle" else copy.deepcopy(half))
    assert np.array_equal(found, whole.estimate)


def test_a_state_goes_on_in_a_fresh_process(tmp_path):
    whole, half = medgrad.Estimator("cclip", tau="auto", average=True), medgrad.Estimator("cclip", tau="auto", average=True)
    for i, g in enumerate(stream()):
        whole.update(g)
        if i < 25:
            half.update(g)
    (tmp_path / "state").write_bytes(pickle.dumps(half.state_dict()))
    np.save(tmp_path / "x.npy", stream()[25:])
    script = """if True:
        import pickle, sys
        import medgrad, numpy as np
        folder = sys.argv[1]
        tracker = medgrad.Estimator("cclip", tau="auto", average=True)
        tracker.load_state_dict(pickle.loads(open(folder + "/state", "rb").read()))
        for g in np.load(folder + "/x.npy"):
            tracker.update(g)
        np.save(folder + "/out.npy", np.stack([tracker.estimate, tracker.average]))
    """
    subprocess.run([sys.executable, "-B", "-c", script, str(tmp_path)], check=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), np.stack([whole.estimate, whole.average]))


def test_tau_may_be_set():
    g = 100 * np.ones(4)
    early, late, text = medgrad.Estimator("vclip", tau=3), medgrad.Estimator("vclip", tau=3), medgrad.Estimator("vclip:tau=3")
    early.set_tau(0.25)
    for tracker in (late, text):
        tracker.reset(np.zeros(4))
        tracker.set_tau(0.25)
    for tracker in (early, late, text):
        assert np.array_equal(tracker.update(g), medgrad.Estimator("vclip", tau=0.25).update(g)), tracker
        assert repr(tracker) == "Estimator('vclip:tau=0.25', steps=1)"
        assert np.allclose(copy.deepcopy(tracker).update(g), 2 * 0.25 / 2)  # two steps of length tau along (1, 1, 1, 1)/2
    unborn = pickle.loads(pickle.dumps(medgrad.Estimator("vclip", tau=3)))
    unborn.set_tau(0.25)
    assert repr(pickle.loads(pickle.dumps(unborn))) == "Estimator('vclip:tau=0.25', steps=0)"
    # theta, where tau is auto.
    auto, other = medgrad.Estimator("vclip:tau=auto"), medgrad.Estimator("vclip", tau="auto", theta=0.5)
    auto.set_tau(0.5)
    for x in stream()[:5]:
        assert np.array_equal(auto.update(x), other.update(x))


@pytest.mark.parametrize("dimension", [None, 4])
def test_a_wrong_tau_changes_nothing(dimension):
    tracker = medgrad.Estimator("vclip", dimension, tau=0.5)
    with pytest.raises(ValueError, match="tau is -1; it must satisfy 0 < tau < inf"):
        tracker.set_tau(-1)
    assert repr(tracker) == "Estimator('vclip:tau=0.5', steps=0)"
    copy.deepcopy(tracker).update(np.ones(4))
    none = medgrad.Estimator("clipped-mean", dimension)
    with pytest.raises(ValueError, match="clipped-mean .*has no tau"):
        none.set_tau(0.1)
    none.update(np.ones(4))


def test_states_that_are_none():
    tracker = medgrad.Estimator("vclip", tau=0.5)
    tracker.update(np.ones(3))
    good = tracker.state_dict()
    for wrong in ({}, None, 5, {**good, "state": 5}, {**good, "shape": -3}, {**good, "dtype": "int8"}):
        with pytest.raises(ValueError, match=r"it must be what state_dict\(\) gave"):
            medgrad.Estimator("vclip").load_state_dict(wrong)
    for state, sentence in (({**good, "state": good["state"] + b"x"}, "something comes after its end"),
                            ({**good, "state": good["state"][:-3]}, "truncated"), ({**good, "shape": (5,)}, "3 components")):
        with pytest.raises(ValueError, match=sentence):
            tracker.load_state_dict(state)
    with pytest.raises(ValueError, match=r"of vectors of the shape \(3,\); the estimator was made for \(4,\)"):
        medgrad.Estimator("vclip", 4).load_state_dict(good)
    with pytest.raises(ValueError, match="of the type float64; the estimator was made for float32"):
        medgrad.Estimator("vclip", dtype=np.float32).load_state_dict(good)
    assert tracker.steps == 1 and (tracker.estimate > 0).all()
    fixed = medgrad.Estimator("vclip", 3)
    fixed.load_state_dict(good)
    fixed.load_state_dict(medgrad.Estimator("vclip").state_dict())  # of one that has seen nothing
    assert fixed.steps == 0 and (fixed.estimate == 0).all()


def test_another_methods_state_is_refused():
    one, other = medgrad.Estimator("vclip"), medgrad.Estimator("cclip")
    one.update(np.ones(3))
    other.update(2 * np.ones(3))
    before = other.estimate.copy()
    with pytest.raises(ValueError, match="the saved state is of"):
        other.load_state_dict(one.state_dict())
    assert np.array_equal(other.estimate, before)


@pytest.mark.parametrize("call, sentence", [
    (lambda: medgrad.Estimator("vclip", tau=-1), "tau is -1; it must satisfy 0 < tau < inf, or be auto."),
    (lambda: medgrad.Estimator("vlcip"), "Did you mean 'vclip'?"),
    (lambda: medgrad.Estimator("vclip", mu=1), "mu is not a parameter of vclip"),
    (lambda: medgrad.Estimator("vclip").update(np.array([np.inf])), "finite"),
    (lambda: medgrad.prox("l3", np.ones(3), 1), "'l3' is not a distance"),
    (lambda: medgrad.project(np.ones(3), 0.5, 1), "q is 0.5"),
    (lambda: medgrad.set_threads(-1), "threads is -1"),
])
def test_mistakes(call, sentence):
    with pytest.raises(ValueError) as told:
        call()
    assert sentence in str(told.value)


def test_threads_that_share_an_estimator():
    """Equal vectors: whatever their order, the bits are those of one thread."""
    g = np.random.default_rng(0).standard_normal(200_000)

    def made():
        return medgrad.Estimator("vclip", tau=0.1, average=True, threads=1)

    def feed(estimator):
        for _ in range(20):
            estimator.update(g)
            estimator.state_dict()

    alone, shared = made(), made()
    feed(alone)
    feed(alone)
    workers = [threading.Thread(target=feed, args=(shared,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert shared.steps == 40 and shared.state_dict() == alone.state_dict()
