"""What users put into an optimiser's groups and state counts from the next step on."""
import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import medgrad.torch as mt  # noqa: E402

MAKERS = {"sgd": lambda params: mt.MedianSGD(params, 1.0, "cclip", tau=0.25),
          "tensor": lambda params: mt.MedianSGD(params, 1.0, "cclip", tau=0.25, scope="tensor"),
          "adam": lambda params: mt.MedianAdam(params, 0.1)}


def net(kind=torch.float32):
    return [torch.zeros(5, 3, dtype=kind, requires_grad=True), torch.zeros(4, dtype=kind, requires_grad=True)]


def go(optimizer, params, steps=3):
    for _ in range(steps):
        for w in params:
            w.grad = torch.ones_like(w)
        optimizer.step()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_state_that_was_cleared_begins_anew(make, kind):
    params, fresh = net(kind), net(kind)
    optimizer = make(params)
    go(optimizer, params)
    optimizer.state.clear()
    assert optimizer.state_dict()["state"] == {} and optimizer.estimate(params[0]) is None
    for w in params:
        w.data.zero_()
    go(optimizer, params, 2)
    other = make(fresh)
    go(other, fresh, 2)
    assert all(torch.equal(a, b) for a, b in zip(params, fresh))
    assert len(optimizer.state_dict()["state"]) == 2
    for a, b in zip(params, fresh):
        assert torch.equal(optimizer.estimate(a), other.estimate(b))


@pytest.mark.parametrize("how", ["another tensor", "another dict", "its memory"])
def test_an_m_of_the_users(how):
    params = net()
    optimizer = MAKERS["sgd"](params)
    go(optimizer, params)
    w, mine = params[0], torch.full((5, 3), 7.0)
    if how == "another tensor":
        optimizer.state[w]["m"] = mine
    elif how == "another dict":
        optimizer.state[w] = {"m": mine}
    else:
        optimizer.state[w]["m"].data = mine
    go(optimizer, params, 1)
    assert (optimizer.estimate(w) == 6.75).all() and (mine == 6.75).all()  # from 7 towards 1, by tau
    assert (optimizer.estimate(params[1]) == 1).all()
    assert (optimizer.state_dict()["state"][0]["m"] == 6.75).all()
    optimizer.state[w]["m"] = torch.zeros(3)
    with pytest.raises(ValueError, match=r"shape \(5, 3\) has m of the shape \(3,\)"):
        go(optimizer, params, 1)
    optimizer.state[w]["m"] = 5
    with pytest.raises(TypeError, match="m of a parameter is not a tensor"):
        go(optimizer, params, 1)


@pytest.mark.parametrize("make", [*MAKERS.values(), lambda params: mt.wrap(torch.optim.SGD(params, 1.0), "cclip", tau=0.25)],
                         ids=[*MAKERS, "wrap"])
def test_parameters_of_another_net(make):
    old, new = net(), net()
    optimizer = make(old)
    go(optimizer, old + new)
    stopped = [w.detach().clone() for w in old]
    optimizer.param_groups[0]["params"] = list(new)
    go(optimizer, old + new)
    assert all(torch.equal(a, b) for a, b in zip(old, stopped))
    assert all((w < 0).all() for w in new)
    twin = copy.deepcopy(new)
    for w in twin:
        w.data.zero_()
    go(make(twin), twin)
    assert all(torch.equal(a, b) for a, b in zip(new, twin))


def test_complex_parameters_are_refused():
    w = torch.nn.Parameter(torch.ones(3, dtype=torch.complex64))
    real = torch.nn.Parameter(torch.ones(2))
    sentence = r"parameter 2 of group 1 has the type torch.complex64; it must be of real numbers"
    for make in (lambda p: mt.MedianSGD(p, 0.1), lambda p: mt.ClippedSGD(p, 0.1), mt.MedianAdam,
                 lambda p: mt.wrap(torch.optim.SGD(p, 0.1))):
        with pytest.raises(TypeError, match=sentence):
            make([real, w])
    optimizer = mt.MedianSGD([real, torch.nn.Parameter(torch.ones(2))], 0.1)
    optimizer.param_groups[0]["params"][1] = w
    w.grad = torch.ones_like(w) * 1j
    with pytest.raises(TypeError, match=sentence):
        optimizer.step()
    assert (w == 1).all()
    # One that keeps its gradient is the inner optimiser's affair.
    filtered = mt.wrap(torch.optim.SGD([real, w], 0.5), exclude=[w])
    filtered.step()
    assert torch.equal(w.detach(), torch.full((3,), 1 - 0.5j, dtype=torch.complex64))
    # Two real numbers each.
    twice = torch.nn.Parameter(torch.view_as_real(w.detach()).clone())
    twice.grad = torch.ones_like(twice)
    mt.MedianSGD([twice], 0.1).step()


def test_states_that_are_none():
    for optimizer in (mt.MedianSGD(net(), 0.1), mt.wrap(torch.optim.SGD(net(), 0.1))):
        for wrong in ({}, None, {"state": {}}):
            with pytest.raises(ValueError, match=r"it must be what state_dict\(\) gave|was not wrapped"):
                optimizer.load_state_dict(wrong)


def changed(state, *path, to):
    """A copy of a state with something else at a place."""
    state = copy.deepcopy(state)
    place = state
    for name in path[:-1]:
        place = place[name]
    if to is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return state


M = torch.zeros(5, 3)
WRONG_MEMORY = [((0,), [1], "is list"), ((0, "m"), "x", "'m' of .* is str"), ((0, "m"), KeyError, "has no 'm'"),
                ((0, "m"), M.long(), "has the type torch.int64"), ((0, "m"), torch.zeros(3), r"of shape \(3,\)"),
                ((0, "step"), "x", "'step' of .* is no number"), ((0, "size"), [], "'size' of .* is no number"),
                ((-1,), {"m": M, "v": M}, "a parameter -1"), ((7,), {"m": M, "v": M}, "a parameter 7")]
WRONG = [(maker, ("state", *path), to, told) for maker in MAKERS for path, to, told in WRONG_MEMORY
         if not (maker != "adam" and path == (0, "m") and to is KeyError)] + [
    ("adam", ("state", 0, "v"), KeyError, "has no 'v'"), ("adam", ("state", 0, "v"), None, "'v' of .* is NoneType"),
    ("sgd", ("state",), [], "'state' of the state is list"), ("sgd", ("param_groups",), {}, "'param_groups' of the state is dict"),
    ("sgd", ("param_groups",), [], "its groups have not"), ("sgd", ("param_groups", 0), 3, "group 1 of the state is int"),
    ("sgd", ("param_groups", 0, "params"), KeyError, "has no 'params'"), ("sgd", ("param_groups", 0, "skipped"), "x", "no number"),
    ("wrap", ("filter",), {}, "has no 'state'"), ("wrap", ("filter",), 3, "is int"), ("wrap", ("state",), KeyError, "has no 'state'"),
    ("wrap", ("filter", "options"), KeyError, "has no 'options'"), ("wrap", ("filter", "options"), {}, "of no method"),
    ("wrap", ("filter", "options", "tau"), [], "of no method"), ("wrap", ("filter", "options", "method"), "vclip", "is of the method"),
    ("wrap", ("filter", "line"), 5, "is int"), ("wrap", ("filter", "sizes"), 5, "is int"),
    ("wrap", ("filter", "sizes", 0), {"size": "x"}, "no number"), ("wrap", ("filter", "state"), [], "is list")] + [
    ("wrap", ("filter", "state", *path), to, told) for path, to, told in WRONG_MEMORY]


@pytest.mark.parametrize("maker, path, to, told", WRONG)
def test_a_damaged_state_is_refused_and_changes_nothing(maker, path, to, told):
    makers = {**MAKERS, "wrap": lambda params: mt.wrap(torch.optim.Adam(params, 0.1), "cclip", tau=0.25)}
    params = net()
    optimizer = makers[maker](params)
    go(optimizer, params)
    saved = optimizer.state_dict()
    with pytest.raises(ValueError, match=told):
        optimizer.load_state_dict(changed(saved, *path, to=to))
    others = copy.deepcopy(params)
    twin = makers[maker](others)
    twin.load_state_dict(copy.deepcopy(saved))  # PyTorch 2's own optimisers go on with the tensors of a state, not with copies
    go(optimizer, params, 2)
    go(twin, others, 2)
    assert all(torch.equal(a, b) for a, b in zip(params, others))
