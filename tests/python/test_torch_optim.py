"""medgrad.torch: optimisers with the bits of the C++ ones and the habits of torch.optim."""
import copy
import json
import multiprocessing
import pathlib
import pickle
import threading

import medgrad
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import golden_steps  # noqa: E402
import medgrad.torch as mt  # noqa: E402
from small_model import SHAPES, flat, near, parameters, run, same, set_gradients  # noqa: E402

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden/optimizers.json").read_text(encoding="utf-8"))
METHODS = [method["name"] for method in medgrad.methods()["online"]]
NEEDS = {"lp": {"p": 3}}


# ---- The same bits ---------------------------------------------------------------------------------

@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: "-".join(str(value) for value in case.values())[:60])
def test_the_bits_of_cpp(case):
    assert golden_steps.run(case, GOLDEN["sizes"], GOLDEN["steps"]) == (case["w"], case["m"])


@pytest.mark.parametrize("start", ["warm", "cold"])
@pytest.mark.parametrize("method", METHODS)
def test_m_is_that_of_the_estimator(method, start):
    params = parameters()
    optimizer = mt.MedianSGD(params, 0.1, method, start=start, **NEEDS.get(method, {}))
    estimator = medgrad.Estimator(method, start=start, **NEEDS.get(method, {}))
    for t in range(12):
        set_gradients(params, t)
        optimizer.step()
        m = estimator.update(flat([w.grad for w in params]))
        assert np.array_equal(flat([optimizer.estimate(w) for w in params]), m)
        seen, expected = optimizer.last_step(), estimator.info
        assert all(seen[name] == expected[name] for name in
                   ("increment_norm", "effective_beta", "clipped_share", "non_finite"))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.sampled_from(["vclip", "cclip", "huber", "clipped-mean"]),
       st.sampled_from([torch.float32, torch.float64]))
def test_the_bits_do_not_depend_on_how_a_model_is_divided(sizes, method, kind):
    torch.manual_seed(0)
    whole = torch.randn(sum(sizes), dtype=kind).requires_grad_()
    parts = [part.clone().requires_grad_() for part in whole.detach().split(sizes)]
    one, many = mt.MedianSGD([whole], 0.1, method), mt.MedianSGD(parts, 0.1, method)
    for _ in range(3):
        whole.grad = torch.randn(sum(sizes), dtype=kind)
        for part, g in zip(parts, whole.grad.split(sizes)):
            part.grad = g.clone()
        one.step()
        many.step()
    assert torch.equal(torch.cat([part.detach() for part in parts]), whole.detach())


def test_a_class_of_ones_own():
    class Mine(torch.nn.Parameter):
        pass

    a, b = Mine(torch.ones(5, dtype=torch.float64)), torch.ones(5, dtype=torch.float64, requires_grad=True)
    for w in (a, b):
        w.grad = torch.arange(5, dtype=torch.float64)
        mt.MedianSGD([w], 0.1, tau=0.5).step()
    assert torch.allclose(a.detach(), b.detach(), rtol=1e-14)


# ---- torch.optim in the special cases ---------------------------------------------------------------

MOMENTUM = {"method": "momentum", "tau": 1 / 9}  # beta = 0.9


@pytest.mark.parametrize("ours, theirs", [
    (lambda p: mt.MedianSGD(p, 0.1, **MOMENTUM), lambda p: torch.optim.SGD(p, 0.01, momentum=0.9)),
    (lambda p: mt.MedianSGD(p, 0.1, **MOMENTUM, weight_decay=0.2), lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.2)),
    (lambda p: mt.MedianSGD(p, 0.1, **MOMENTUM, weight_decay=0.2, maximize=True),
     lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.2, maximize=True)),
    (lambda p: mt.MedianSGD(p, 0.1, "vclip", tau=1e9, start="cold"), lambda p: torch.optim.SGD(p, 0.1)),
    (lambda p: mt.ClippedSGD(p, 0.1, beta=0.9, clip=1e9), lambda p: torch.optim.SGD(p, 0.01, momentum=0.9)),
    (lambda p: mt.MedianAdam(p, 0.1, **MOMENTUM), lambda p: torch.optim.Adam(p, 0.1)),
    (lambda p: mt.MedianAdam(p, 0.1, **MOMENTUM, weight_decay=0.2), lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.2)),
    (lambda p: mt.MedianAdam(p, 0.1, **MOMENTUM, weight_decay=0.2, decoupled=True),
     lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.2)),
    (lambda p: mt.MedianAdam(p, 0.1, **MOMENTUM, beta2=0.9, eps=1e-3, maximize=True),
     lambda p: torch.optim.Adam(p, 0.1, betas=(0.9, 0.9), eps=1e-3, maximize=True)),
])
def test_equals_torch_optim(ours, theirs):
    a, b = parameters(), parameters()
    assert near(run(ours(a), a), run(theirs(b), b), 1e-11)


def test_a_cold_vclip_is_gradient_clipping():
    a, b = parameters(), parameters()
    theirs = torch.optim.SGD(b, 0.1)
    run(mt.MedianSGD(a, 0.1, tau=3.0, start="cold"), a)
    for t in range(12):
        set_gradients(b, t)
        norm = np.linalg.norm(flat([w.grad for w in b]))
        for w in b:
            w.grad.mul_(min(1.0, 3.0 / norm))
        theirs.step()
    assert near(a, b)


# ---- Tensor operations ------------------------------------------------------------------------------

CASES = [lambda p, method=method, **more: mt.MedianSGD(p, 0.1, method, **NEEDS.get(method, {}), **more) for method in METHODS]
CASES += [lambda p, **more: mt.ClippedSGD(p, 0.1, **more), lambda p, **more: mt.MedianAdam(p, 0.1, "vclip", tau=0.5, **more),
          lambda p, **more: mt.MedianAdam(p, 0.1, **MOMENTUM, **more), lambda p, **more: mt.MedianAdam(p, 0.1, **more),
          lambda p, **more: mt.MedianAdam(p, 0.1, cut=0.7, beta1=0.6, **more),
          lambda p, **more: mt.MedianAdam(p, 0.1, "cclip-adam", tau="auto", **more)]
CASES += [lambda p, method=method, **more: mt.MedianSGD(p, 0.1, method, tau="auto", **more) for method in ("vclip", "cclip", "huber")]


@pytest.mark.parametrize("bad", ["none", "robust", "skip"])
@pytest.mark.parametrize("make", CASES)
def test_operations_agree_with_the_kernels(make, bad, monkeypatch):
    def steps():
        params = parameters()
        optimizer = make(params, weight_decay=0.1, scope="group", **({} if bad == "none" else {"bad_gradient": bad}))
        seen = []
        for t in range(8):
            set_gradients(params, t)
            if bad != "none" and t in (0, 3):
                params[0].grad[2, 3], params[6].grad[7] = float("nan"), float("inf")
            optimizer.step()
            seen.append(optimizer.last_step())
        return [w.detach() for w in params], seen, optimizer.skipped

    fused, seen, skipped = steps()
    monkeypatch.setattr(mt._engine, "is_plain", lambda x: False)
    plain, plain_seen, plain_skipped = steps()
    assert near(plain, fused) and all(torch.isfinite(w).all() for w in plain)
    assert skipped == plain_skipped == (2 if bad == "skip" else 0)
    for ours, theirs in zip(plain_seen, seen):
        for name, value in theirs.items():
            assert ours[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("bad", ["robust", "skip"])
@pytest.mark.parametrize("make", [make for i, make in enumerate(CASES) if METHODS[i:i + 1] != ["lp"]])
def test_a_step_never_waits_for_a_device(make, bad):
    params = [torch.randn(shape, device="meta", requires_grad=True) for shape in SHAPES]  # there, any value asked for fails
    optimizer = make(params, weight_decay=0.1, bad_gradient=bad)
    for _ in range(2):
        for w in params:
            w.grad = torch.empty_like(w)
        optimizer.step()
    assert optimizer.estimate(params[0]).device.type == "meta"
    with pytest.raises((NotImplementedError, RuntimeError)):
        optimizer.last_step()["increment_norm"]


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e160, 5e-324])
def test_operations_on_the_edge_of_the_range(scale, monkeypatch):
    def step():
        w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        w.grad = torch.tensor([3.0, -4.0, 0.0], dtype=torch.float64) * scale
        optimizer = mt.MedianSGD([w], 1.0, "vclip", tau=scale)
        optimizer.step()
        return w.detach().numpy()

    fused = step()
    monkeypatch.setattr(mt._engine, "is_plain", lambda x: False)
    assert np.isfinite(fused).all() and np.allclose(step(), fused, rtol=1e-12)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_m_in_float(kind):
    params = parameters(kind)
    optimizer = mt.MedianSGD(params, 0.1, "momentum", tau=0.01)
    run(optimizer, params)
    assert params[0].dtype == kind and optimizer.estimate(params[0]).dtype == torch.float32
    other_params = [w.detach().clone().requires_grad_() for w in params]
    other = mt.MedianSGD(other_params, 0.1, "momentum", tau=0.01)
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    assert torch.equal(other.estimate(other_params[0]), optimizer.estimate(params[0]))


def test_layouts():
    images = torch.randn(4, 3, 5, 5).contiguous(memory_format=torch.channels_last).requires_grad_()
    strided = torch.randn(6, 8)[:, ::2].detach().requires_grad_()
    plain = [images.detach().contiguous().clone().requires_grad_(), strided.detach().contiguous().clone().requires_grad_()]
    for params, one in (([images], [plain[0]]), ([strided], [plain[1]])):
        g = torch.randn(params[0].shape)
        ours, theirs = mt.MedianSGD(params, 0.1, "cclip"), mt.MedianSGD(one, 0.1, "cclip")
        for k in range(3):
            params[0].grad, one[0].grad = (g * k).clone(), (g * k).clone()
            ours.step()
            theirs.step()
        assert torch.equal(params[0].detach().contiguous(), one[0].detach())  # cclip takes components by themselves
        assert params[0].stride() != one[0].stride()


# ---- Habits of torch.optim --------------------------------------------------------------------------

def test_groups_schedulers_closures_and_gradients_set_to_none():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = mt.MedianSGD([{"params": net[0].parameters(), "lr": 0.2}, {"params": net[2].parameters()}], lr=0.1, tau=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    x = torch.randn(16, 4)

    def closure():
        optimizer.zero_grad(set_to_none=True)
        loss = net(x).square().mean()
        loss.backward()
        return loss

    losses = []
    for _ in range(3):
        losses.append(optimizer.step(closure).item())
        scheduler.step()
    assert losses[2] < losses[0]
    assert [group["lr"] for group in optimizer.param_groups] == [0.025, 0.0125]
    optimizer.zero_grad(set_to_none=True)
    before = [w.detach().clone() for w in net.parameters()]
    optimizer.step()  # no gradients: nothing to do
    assert same(before, list(net.parameters())) and optimizer.last_step() == {}
    extra = torch.zeros(3, requires_grad=True)
    optimizer.add_param_group({"params": [extra], "weight_decay": 0.1})
    extra.grad = torch.ones(3)
    optimizer.step()
    assert (extra < 0).all() and len(optimizer.param_groups) == 3


@pytest.mark.parametrize("make", [lambda p: mt.MedianSGD(p, 0.1), lambda p: mt.ClippedSGD(p, 0.1), mt.MedianAdam])
def test_cyclic_schedulers(make):
    schedulers = torch.optim.lr_scheduler
    for schedule in (lambda o: schedulers.OneCycleLR(o, 0.4, total_steps=20, cycle_momentum=False),
                     lambda o: schedulers.CyclicLR(o, 0.02, 0.4, cycle_momentum=False)):
        params = parameters()
        optimizer = make(params)
        scheduler, rates = schedule(optimizer), []
        for t in range(4):
            run(optimizer, params, [t])
            rates.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
        assert rates == sorted(set(rates)) and rates[0] < 0.03


def test_gradients_that_come_and_go():
    a, b = torch.zeros(3, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer = mt.MedianAdam([a, b], 0.1)
    for t in range(4):
        a.grad = torch.ones(3)
        b.grad = torch.ones(2) if t >= 2 else None
        optimizer.step()
    assert optimizer.state[a]["step"] == 4 and optimizer.state[b]["step"] == 2
    assert (b < 0).all()


def test_the_weights_may_move():
    w = torch.zeros(5000, requires_grad=True)
    optimizer = mt.MedianSGD([w], 1.0, "cclip", tau=1.0)
    for _ in range(3):
        w.grad = torch.ones(5000)
        optimizer.step()
        w.data = w.data.clone()
    assert (w == -3).all()
    w.data = w.data[:7].clone()
    w.grad = torch.ones(7)
    with pytest.raises(ValueError, match="changed its shape"):
        optimizer.step()


@pytest.mark.skipif(not hasattr(torch.autograd.graph, "increment_version"), reason="this PyTorch cannot be told")
def test_autograd_knows_that_weights_were_written():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    mt.MedianSGD([w], 0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.skipif(not hasattr(torch.optim.Optimizer, "register_step_post_hook"), reason="this PyTorch has no hooks of steps")
def test_hooks():
    called = []
    params = parameters()
    optimizer = mt.MedianSGD(params, 0.1)
    optimizer.register_step_pre_hook(lambda *_: called.append("before"))
    optimizer.register_step_post_hook(lambda *_: called.append("after"))
    run(optimizer, params, range(1))
    assert called == ["before", "after"]


def _go_on(made):
    optimizer, params = made
    return run(optimizer, params, range(6, 12))


def _load_and_go_on(state, weights):
    params = [w.clone().requires_grad_() for w in weights]
    optimizer = mt.MedianAdam(params, 0.5, "huber", tau=0.3, mu=2.0)
    optimizer.load_state_dict(state)
    return [w.numpy() for w in run(optimizer, params, range(6, 12))]


# ---- tau = auto ----------------------------------------------------------------------------------------

AUTO = {"tau": "auto", "theta": 0.3, "level": 0.4, "rate": 0.5}


@pytest.mark.parametrize("method", ["vclip", "cclip", "huber"])
@pytest.mark.parametrize("fused", [True, False])
def test_auto_has_no_scale(method, fused, monkeypatch):
    """Gradients times a power of two give estimates times that power, bit for bit."""
    if not fused:
        monkeypatch.setattr(mt._engine, "is_plain", lambda x: False)

    def estimates(factor):
        params = parameters()
        optimizer = mt.MedianSGD(params, 0.0, method, **AUTO)
        for t in range(8):
            set_gradients(params, t)
            for w in params:
                w.grad *= factor
            optimizer.step()
        return [optimizer.estimate(w) / factor for w in params], optimizer.last_step()["size"] / factor

    (m, size), (other, other_size) = estimates(1.0), estimates(2.0**40)
    assert same(m, other) and size == other_size > 0


@pytest.mark.parametrize("scope", ["global", "group", "tensor"])
@pytest.mark.parametrize("make", [
    lambda p, **more: mt.MedianSGD(p, 0.1, "cclip", **AUTO, **more), lambda p, **more: mt.MedianSGD(p, 0.1, "vclip", **AUTO, **more),
    lambda p, **more: mt.MedianAdam(p, 0.1, "huber", **AUTO, **more)])
@pytest.mark.parametrize("fused", [True, False])
def test_auto_goes_on_bit_for_bit(make, scope, fused, monkeypatch):
    if not fused:
        monkeypatch.setattr(mt._engine, "is_plain", lambda x: False)

    def made():
        params = parameters(torch.float32)
        return make([{"params": params[:3]}, {"params": params[3:]}], scope=scope), params

    whole = made()
    expected = run(*whole)
    half, again = made(), made()
    run(*half, range(6))
    for w, other in zip(again[1], half[1]):
        w.data.copy_(other)
    again[0].load_state_dict(pickle.loads(pickle.dumps(half[0].state_dict())))
    assert same(run(*again, range(6, 12)), expected)
    assert same(run(*copy.deepcopy(half), range(6, 12)), expected)


def test_auto_waits_for_something_to_go_by():
    for kind, fused in ((torch.float64, True), (torch.bfloat16, False)):  # the latter by tensor operations
        w = torch.ones(4, dtype=kind, requires_grad=True)
        optimizer = mt.MedianSGD([w], 0.5, "cclip", tau="auto", theta=1.0, level=0.5)
        for g, size in (([0, 0, 0, 0], 0.0), ([1, 0, 4, -2], 2.0), ([0, 0, 0, 0], None)):
            w.grad = torch.tensor(g, dtype=kind)
            optimizer.step()
            seen = optimizer.last_step()
            if size == 0:
                assert seen["size"] == seen["tau"] == 0 and torch.equal(w.detach(), torch.ones(4, dtype=kind))
            elif size is not None:  # the median of 1, 2, 4; tau is 1 times that, and two of three are within
                assert seen["tau"] == size and seen["size"] == pytest.approx(size * np.exp(0.1 * (0.5 - 2 / 3)))
                assert optimizer.estimate(w).tolist() == [1, 0, 2, -2]
        assert (optimizer._engine._units[0].core is not None) == fused


def test_auto_is_not_moved_by_what_is_skipped():
    for kind in (torch.float32, torch.float16):
        w = torch.zeros(3, dtype=kind, requires_grad=True)
        optimizer = mt.MedianSGD([w], 0.5, tau="auto", bad_gradient="skip")
        w.grad = torch.ones_like(w)
        optimizer.step()
        size = optimizer.param_groups[0]["global_size"]
        w.grad = torch.tensor([float("inf"), 1, 1]).to(kind)
        optimizer.step()
        assert optimizer.skipped == 1 and optimizer.param_groups[0]["global_size"] == size > 0


def test_theta_may_be_scheduled():
    w = torch.zeros(3, requires_grad=True)
    optimizer = mt.MedianSGD([w], 0.5, tau="auto", theta=0.5)
    for theta in (0.5, 0.25):
        optimizer.param_groups[0]["theta"] = theta
        w.grad = torch.tensor([3.0, 4.0, 0.0]) * 1000
        optimizer.step()
        seen = optimizer.last_step()
        assert seen["tau"] == theta * seen["size"] > 0


# ---- Adam in its own metric -----------------------------------------------------------------------------

def test_median_adam_by_its_formula():
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = mt.MedianAdam([w], 0.1)
    m, v, x = np.zeros(3), np.zeros(3), np.zeros(3)
    for t in range(1, 30):
        g = np.random.default_rng(t).standard_cauchy(3) * (1e6 if t % 7 == 0 else 1)
        bound = np.where(v == 0, np.inf, 3 * np.sqrt(v / (1 - 0.999**(t - 1) if t > 1 else 1)))
        cut = np.clip(g - m, -bound, bound)
        v = 0.999 * v + 0.001 * (m + cut)**2
        m = m + 0.1 * cut
        x = x - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        w.grad = torch.from_numpy(g)
        optimizer.step()
        assert np.allclose(w.detach().numpy(), x, rtol=1e-12)


def test_names_of_adams():
    def after(*args, **kwargs):
        params = parameters()
        return run(mt.MedianAdam(params, 0.1, *args, **kwargs), params)

    a = parameters()
    assert near(after(cut=float("inf")), run(torch.optim.Adam(a, 0.1), a), 1e-11)
    assert same(after("adam"), after(cut=float("inf"))) and same(after("median-adam"), after(cut=3))
    assert same(after("cclip-adam"), after("cclip", tau=0.1)) and not same(after(), after("adam"))


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "fresh process"])
def test_goes_on_bit_for_bit(how):
    def make():
        params = parameters()
        return mt.MedianAdam(params, 0.1, "huber", tau=0.3, mu=2.0, weight_decay=0.1), params

    whole = make()
    expected = run(*whole)
    half = make()
    run(*half, range(6))
    if how == "fresh process":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            state = pickle.loads(pickle.dumps(half[0].state_dict()))
            found = [torch.from_numpy(w) for w in pool.apply(_load_and_go_on, (state, [w.detach() for w in half[1]]))]
    else:
        found = _go_on(pickle.loads(pickle.dumps(half)) if how == "pickle" else copy.deepcopy(half))
        assert not same(found, half[1])  # the original stays where it was
    assert same(found, expected)


def test_a_state_is_not_shared():
    params = parameters()
    optimizer = mt.MedianSGD(params, 0.1)
    run(optimizer, params, range(2))
    state = optimizer.state_dict()
    other = mt.MedianSGD(params, 0.1)
    other.load_state_dict(state)
    before = optimizer.estimate(params[0]).clone()
    run(other, params, range(2, 4))
    assert torch.equal(optimizer.estimate(params[0]), before)


@pytest.mark.parametrize("other, sentence", [
    (lambda p: mt.MedianSGD(p, 0.1, "cclip"), "is of the method"),
    (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), "it is of another optimiser than MedianSGD"),
    (lambda p: mt.MedianSGD([w.detach()[:1].clone().requires_grad_() for w in p if w.dim()], 0.1),
     "the state is of a parameter of shape"),
])
def test_a_state_of_another_optimiser_is_refused(other, sentence):
    params = parameters()
    theirs = other(params)
    mine = mt.MedianSGD(params, 0.1, "vclip")
    for group in theirs.param_groups:
        set_gradients(group["params"], 0)
    theirs.step()
    with pytest.raises(ValueError, match=sentence):
        mine.load_state_dict(theirs.state_dict())
    assert len(mine.state) == 0


def test_gradients_that_are_not_finite():
    net = torch.nn.Linear(3, 2)
    for bad in ("skip", "raise"):
        optimizer = mt.MedianSGD(net.parameters(), 0.1, bad_gradient=bad, scope="tensor")
        optimizer.name_parameters(net)
        before = [w.detach().clone() for w in net.parameters()]
        net.weight.grad, net.bias.grad = torch.ones(2, 3), torch.tensor([1.0, float("nan")])
        if bad == "skip":
            optimizer.step()
            assert optimizer.skipped == 1 and optimizer.last_step()["bias/skipped"] == 1
            assert torch.equal(net.bias, before[1]) and not torch.equal(net.weight, before[0])
        else:
            with pytest.raises(ValueError, match="the gradient of bias or its weights have a component that is NaN or Inf"):
                optimizer.step()
            assert same(before, list(net.parameters()))


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda p: mt.MedianSGD(p, -1), ValueError, "lr is -1; it must satisfy 0 <= lr < inf."),
    (lambda p: mt.MedianSGD(p, "0.1"), TypeError, "lr is '0.1'; it must be a number."),
    (lambda p: mt.MedianSGD(p, 0.1, weigth_decay=1), ValueError, "is not an option of MedianSGD. Did you mean 'weight_decay'?"),
    (lambda p: mt.MedianSGD(p, 0.1, tau=0), ValueError, "tau is 0; it must satisfy 0 < tau < inf"),
    (lambda p: mt.MedianSGD(p, 0.1, "vlcip"), ValueError, "Did you mean 'vclip'?"),
    (lambda p: mt.MedianSGD(p, 0.1, nesterov=True), ValueError, "nesterov is not a parameter of vclip"),
    (lambda p: mt.MedianSGD(p, 0.1, scope="all"), ValueError, "scope is 'all'; it must be 'global', 'group' or 'tensor'."),
    (lambda p: mt.MedianSGD(p, 0.1, bad_gradient="drop"), ValueError, "bad_gradient is 'drop'"),
    (lambda p: mt.ClippedSGD(p, 0.1, beta=1.0), ValueError, "beta is 1"),
    (lambda p: mt.MedianAdam(p, beta2=2), ValueError, "beta2 is 2"),
    (lambda p: mt.MedianAdam(p, cut=0), ValueError, "cut is 0; it must satisfy cut > 0, inf allowed."),
    (lambda p: mt.MedianAdam(p, beta1=0), ValueError, "beta1 is 0; it must satisfy 0 < beta1 < 1"),
    (lambda p: mt.MedianAdam(p, tau=0.1), ValueError, "tau is not a parameter of median-adam"),
    (lambda p: mt.MedianAdam(p, 0.1, "vclip", cut=2), ValueError, "nothing is cut with the method 'vclip'"),
    (lambda p: mt.MedianSGD(p, 0.1, "momentum", tau="auto"), ValueError, "tau is"),
    (lambda p: mt.MedianSGD(p, 0.1, tau="auto", level=1), ValueError, "level is 1; it must satisfy 0 < level < 1"),
    (lambda p: mt.MedianSGD([{"params": p[:1], "tau": 2.0}, {"params": p[1:]}], 0.1).step(), ValueError, "need the same method"),
    (lambda p: mt.MedianSGD([], 0.1), ValueError, "empty parameter list"),
    (lambda p: mt.wrap(p), TypeError, "must be an optimiser of torch"),
    (lambda p: mt.wrap(torch.optim.SGD(p, 0.1), bad_gradient="skip"), ValueError, "cannot leave out"),
])
def test_mistakes(call, kind, sentence):
    with pytest.raises(kind) as told:
        call(parameters())
    assert sentence in str(told.value)


@pytest.mark.parametrize("make, name, near", [
    (lambda groups: mt.MedianSGD(groups, 0.1), "weigth_decay", "weight_decay"),
    (lambda groups: mt.MedianSGD(groups, 0.1), "Maximize", "maximize"),
    (lambda groups: mt.MedianSGD(groups, 0.1), "tua", "tau"),
    (lambda groups: mt.MedianAdam(groups), "betas", "beta1"),
    (lambda groups: mt.ClippedSGD(groups, 0.1), "weight-decay", "weight_decay"),
])
def test_a_misspelt_option_of_a_group_is_told(make, name, near):
    params = parameters()
    sentence = fr"{name} is not an option of \w+\. Did you mean '{near}'\?"
    with pytest.raises(ValueError, match=sentence):
        make([{"params": params[:1]}, {"params": params[1:], name: 0.1}])
    optimizer = make([{"params": params[:1]}])
    with pytest.raises(ValueError, match=sentence):
        optimizer.add_param_group({"params": params[1:], name: 0.1})
    assert len(optimizer.param_groups) == 1
    optimizer.param_groups[0][name] = 0.1
    set_gradients(params, 0)
    with pytest.raises(ValueError, match=sentence):
        optimizer.step()


@pytest.mark.parametrize("make, name", [
    (lambda groups: mt.MedianSGD(groups, 0.1), "momentum"), (lambda groups: mt.MedianSGD(groups, 0.1), "nesterov"),
    (lambda groups: mt.MedianSGD(groups, 0.1), "beta1"), (lambda groups: mt.MedianAdam(groups), "momentum"),
    (lambda groups: mt.ClippedSGD(groups, 0.1), "tau"), (lambda groups: mt.ClippedSGD(groups, 0.1), "method")])
def test_an_option_of_another_optimiser_is_told(make, name):
    with pytest.raises(ValueError, match=f"{name} is not an option of "):
        make([{"params": parameters(), name: 0.9}])


def test_what_users_and_schedulers_keep_in_groups_is_theirs():
    params = parameters()
    optimizer = mt.MedianSGD([{"params": params[:1], "name": "first", "lr_scale": 0.5, "layer_id": 3, 7: "seven"},
                              {"params": params[1:]}], 0.1)
    schedulers = [torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10, cycle_momentum=False),
                  torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 5),
                  torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)]
    for t in range(3):
        set_gradients(params, t)
        optimizer.step()
        for scheduler in schedulers[:2]:
            scheduler.step()
        schedulers[2].step(1.0)
    assert optimizer.param_groups[0]["name"] == "first" and optimizer.param_groups[0]["lr"] != 0.1
    other = mt.MedianSGD([{"params": params[:1]}, {"params": params[1:]}], 0.1)
    other.load_state_dict(optimizer.state_dict())
    other.step()


def test_sparse_gradients_are_refused():
    embedding = torch.nn.Embedding(10, 3, sparse=True)
    embedding(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(ValueError, match="parameter 1 of group 1 has a sparse gradient"):
        mt.MedianSGD(embedding.parameters(), 0.1).step()


def test_threads_each_with_an_optimiser():
    def work(out):
        w = torch.zeros(50_000, requires_grad=True)
        optimizer = mt.MedianSGD([w], 0.1, tau=0.5)
        for t in range(10):
            w.grad = torch.full((50_000,), float(t % 3))
            optimizer.step()
        out.append(w.detach())

    results = []
    workers = [threading.Thread(target=work, args=(results,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 3 and same(results[:1] * 2, results[1:])
