"""medgrad.torch.wrap, a median filter before any optimiser; medgrad.torch.probe."""
import copy
import os
import pathlib
import pickle
import subprocess
import sys

import medgrad
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import medgrad.torch as mt  # noqa: E402
from small_model import SHAPES, flat, parameters, run, same, set_gradients  # noqa: E402


def test_wrap_filters_and_keeps_what_is_excluded():
    a, b = parameters(), parameters()
    wrapped = mt.wrap(torch.optim.SGD(a, 0.1), "vclip", tau=0.5, exclude=[a[1], a[3]])
    by_hand = torch.optim.SGD(b, 0.1)
    estimator = medgrad.Estimator("vclip", tau=0.5)
    filtered = [i for i in range(len(SHAPES)) if i not in (1, 3)]
    for t in range(6):
        set_gradients(a, t)
        set_gradients(b, t)
        wrapped.step()
        m = estimator.update(flat([b[i].grad for i in filtered])).copy()
        for i in filtered:
            b[i].grad = torch.from_numpy(m[:b[i].numel()].copy()).reshape(b[i].shape)
            m = m[b[i].numel():]
        by_hand.step()
    assert same([w.detach() for w in a], [w.detach() for w in b])
    assert wrapped.last_step()["increment_norm"] > 0 and wrapped.estimate(a[1]) is None
    assert same([wrapped.estimate(a[0])], [a[0].grad])


@pytest.mark.parametrize("tau", [0.2, "auto"])
@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_a_wrapped_optimiser_goes_on(how, tau):
    def make():
        params = parameters()
        return mt.wrap(torch.optim.AdamW(params, 0.1), "cclip", tau=tau), params

    whole = make()
    expected = run(*whole)
    half = make()
    run(*half, range(6))
    if how == "state_dict":
        other, params = make()
        for w, value in zip(params, half[1]):
            w.data.copy_(value)
        other.load_state_dict(copy.deepcopy(half[0].state_dict()))
        half = other, params
    elif how == "pickle":
        half = pickle.loads(pickle.dumps(half))
    else:
        half = copy.deepcopy(half)
    assert same(run(*half, range(6, 12)), expected)


def test_wrapped_optimisers_have_schedulers_and_closures():
    params = parameters()
    optimizer = mt.wrap(torch.optim.Adam(params, 0.1), "vclip", tau=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = sum((w * w).sum() for w in params)
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    scheduler.step()
    assert optimizer.step(closure).item() < first
    assert optimizer.param_groups[0]["lr"] == 0.05 and isinstance(optimizer, torch.optim.Optimizer)
    optimizer.tau = 0.25
    assert optimizer.tau == 0.25
    with pytest.raises(ValueError, match="tau is -1"):
        optimizer.tau = -1
    with pytest.raises(ValueError, match="was not wrapped"):
        optimizer.load_state_dict(torch.optim.Adam(params, 0.1).state_dict())


def test_a_wrapped_optimiser_goes_on_in_a_fresh_process(tmp_path):
    def make():
        params = parameters()
        return mt.wrap(torch.optim.AdamW(params, 0.1), "vclip", tau="auto"), params

    expected = run(*make())
    half = make()
    run(*half, range(6))
    torch.save({"state": half[0].state_dict(), "weights": [w.detach() for w in half[1]]}, tmp_path / "half.pt")
    script = """if True:
        import sys
        import torch
        import medgrad.torch
        from small_model import parameters, run
        saved, params = torch.load(sys.argv[1] + "/half.pt"), parameters()
        for w, value in zip(params, saved["weights"]):
            w.data.copy_(value)
        optimizer = medgrad.torch.wrap(torch.optim.AdamW(params, 0.1), "vclip", tau="auto")
        optimizer.load_state_dict(saved["state"])
        torch.save(run(optimizer, params, range(6, 12)), sys.argv[1] + "/whole.pt")
    """
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-B", "-c", script, str(tmp_path)], check=True, env={**os.environ, "PYTHONPATH": path})
    assert same(torch.load(tmp_path / "whole.pt"), expected)


def kept(exclude):
    """Which parameters keep their gradients."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    optimizer = mt.wrap(torch.optim.SGD(net.parameters(), 0.1), tau=0.1, exclude=exclude(net))
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return [optimizer.estimate(w) is None for w in net.parameters()]


def test_what_is_excluded():
    assert kept(lambda net: None) == [False] * 4
    assert kept(lambda net: net[0].bias) == [False, True, False, False]
    assert kept(lambda net: (w for w in net[1].parameters())) == [False, False, True, True]
    assert kept(lambda net: net[1]) == [False, False, True, True]
    assert kept(lambda net: lambda w: w.ndim < 2) == [False, True, False, True]


@pytest.mark.parametrize("exclude, kind, sentence", [
    (["bias"], TypeError, "entry 1 of exclude is 'bias'; it must be a parameter."),
    ("bias", TypeError, "exclude is 'bias'; it must be parameters, a module, or a function"),
    (5, TypeError, "exclude is 5; it must be parameters, a module, or a function"),
    (torch.nn.Linear(3, 1), ValueError, r"entry 1 of exclude, of the shape \(1, 3\), is no parameter of the optimiser"),
    ([torch.zeros(3)], ValueError, r"entry 1 of exclude, of the shape \(3,\), is no parameter of the optimiser"),
])
def test_what_cannot_be_excluded(exclude, kind, sentence):
    with pytest.raises(kind, match=sentence):
        kept(lambda net: exclude)


@pytest.mark.parametrize("name, value", [("lr", 0.1), ("weight_decay", 0.1), ("maximize", True), ("decoupled", True)])
def test_what_is_the_inner_optimisers_is_refused(name, value):
    with pytest.raises(TypeError, match=f"wrap takes no {name}, which is the inner optimiser's; give it to SGD."):
        mt.wrap(torch.optim.SGD(parameters(), 0.1), **{name: value})


@pytest.mark.parametrize("method, given, name", [("vclip", {"tau": "auto"}, "theta"), ("vclip:tau=auto", {}, "theta"),
                                                 ("vclip", {"tau": 0.5}, "tau"), ("vclip:tau=0.5", {}, "tau")])
def test_tau_sets_what_it_reads(method, given, name):
    a, b = parameters(), parameters()
    optimizer = mt.wrap(torch.optim.SGD(a, 0.1), method, **given)
    optimizer.tau = 0.3
    assert optimizer.tau == 0.3
    expected = mt.wrap(torch.optim.SGD(b, 0.1), "vclip", **({"tau": "auto", "theta": 0.3} if name == "theta" else {"tau": 0.3}))
    assert same(run(optimizer, a), run(expected, b))
    assert optimizer.last_step() == expected.last_step() and ("size" in optimizer.last_step()) == (name == "theta")


def test_parameters_given_twice_are_refused():
    sentence = "'vclip:tau=0.5' and the argument tau both give tau; give it once."
    for make in (lambda p: mt.MedianSGD(p, 0.1, "vclip:tau=0.5", tau=1), lambda p: mt.MedianAdam(p, 0.1, "vclip:tau=0.5", tau=1),
                 lambda p: mt.wrap(torch.optim.SGD(p, 0.1), "vclip:tau=0.5", tau=1)):
        with pytest.raises(ValueError, match=sentence):
            make(parameters())
    with pytest.raises(ValueError, match="'adam:beta2=0.9' and the argument beta2 both give beta2"):
        mt.MedianAdam(parameters(), 0.1, "adam:beta2=0.9", beta2=0.99)
    a, b = parameters(), parameters()
    assert same(run(mt.MedianAdam(a, 0.1, "adam:beta2=0.9"), a), run(mt.MedianAdam(b, 0.1, "adam", beta2=0.9), b))


@pytest.mark.parametrize("make, sentence", [
    (lambda p: mt.MedianSGD(p, 0.1, method=5), "method is 5; it must be text."),
    (lambda p: mt.MedianAdam(p, 0.1, method=5), "method is 5; it must be text."),
    (lambda p: mt.wrap(torch.optim.SGD(p, 0.1), 5), "method is 5; it must be text."),
    (lambda p: mt.MedianSGD(p, "fast"), "lr is 'fast'; it must be a number."),
    (lambda p: mt.MedianSGD(p, 0.1, maximize="yes"), "maximize is 'yes'; it must be True or False."),
])
def test_types(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make(parameters())


# ---- How noisy gradients are ------------------------------------------------------------------------

def test_probe_tells_heavy_tails():
    net = torch.nn.Linear(20, 1, bias=False)
    x = torch.eye(20)

    def loss(model, noise):
        return (model(x).squeeze() * (noise + 1)).sum()  # the gradient is 1 + noise

    cauchy = medgrad.Stable(1.0).rvs((200, 20), seed=1, dtype=np.float32)
    noise = mt.probe(net, loss, list(torch.from_numpy(cauchy)))
    errors = np.linalg.norm(cauchy - cauchy.mean(axis=0), axis=1)
    assert np.allclose(noise.errors, errors, rtol=1e-5)
    assert abs(noise.gradient_norm - np.linalg.norm(1 + cauchy.mean(axis=0))) < 1e-3
    assert 0.85 < noise.components["quantiles"]["alpha"] < 1.15  # 4000 entries: a standard error below 0.03
    assert "median-type" in noise.verdict and net.weight.grad is None
    few = mt.probe(net, loss, list(torch.from_numpy(cauchy[:3])))
    assert isinstance(few.components, str) and few.norms is None
    with pytest.raises(ValueError, match="at least two batches"):
        mt.probe(net, loss, [torch.zeros(20)])
    with pytest.raises(ValueError, match="batch 2 has a component that is NaN or Inf"):
        mt.probe(net, loss, [torch.zeros(20), torch.full((20,), float("nan"))])
    with pytest.raises(ValueError, match="gone through twice"):
        mt.probe(net, loss, iter([torch.zeros(20), torch.ones(20)]))
    for wrong, sentence in ((lambda net, x: 1.0, "loss gave float"), (lambda net, x: net(torch.eye(20)), "a tensor of 20 numbers"),
                            (lambda net, x: torch.ones(()), "a tensor without gradients")):
        with pytest.raises(TypeError, match=sentence + "; it must be a tensor of one number, computed by the model."):
            mt.probe(net, wrong, [torch.zeros(20)] * 2)


@pytest.mark.parametrize("model, loss, sentence", [
    ("net", lambda net, batch: 0.0, "model is str; it must be a torch.nn.Module."),
    (torch.nn.Linear(1, 1), None, "loss is None; it must be a function of the model and a batch."),
])
def test_what_cannot_be_probed(model, loss, sentence):
    with pytest.raises(TypeError) as told:
        mt.probe(model, loss, [1, 2])
    assert sentence in str(told.value)


def test_tensors_whose_sign_is_put_off():
    x = torch.complex(torch.zeros(3, 2), torch.arange(6.0).reshape(3, 2)).conj().imag  # a view, of which the sign is a note
    assert x.is_neg() and torch.equal(medgrad.aggregate(x), torch.tensor([-2.0, -3.0]))


def test_probe_leaves_a_model_as_it_was():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.register_buffer("nothing", None)

        def forward(self, x):
            self.calls = self.calls + 1  # another tensor in its place
            return x * self.calls

    net = torch.nn.Sequential(torch.nn.BatchNorm1d(4), Counts(), torch.nn.Linear(4, 1))
    before, calls = copy.deepcopy(net.state_dict()), net[1].calls
    batches = list(torch.randn(5, 8, 4, generator=torch.Generator().manual_seed(0)))
    one, two = (mt.probe(net, lambda model, x: model(x).square().mean(), batches) for _ in range(2))
    assert np.array_equal(one.errors, two.errors) and net[1].calls is calls
    with pytest.raises(ValueError, match="batch 2"):
        mt.probe(net, lambda model, x: model(x).square().mean(), [batches[0], batches[1] * float("nan")])
    assert list(before) == list(net.state_dict()) and same(before.values(), net.state_dict().values())
