"""Tensors of PyTorch go in without a copy, and results come back as what went in."""
import medgrad
import numpy as np
import pytest
from foreign import Foreign

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")


def rows(n=7, d=24, kind=torch.float32):
    return torch.from_numpy(np.random.default_rng(0).standard_t(2, (n, d))).to(kind)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_what_comes_in_goes_out(kind):
    x = rows(kind=kind)
    expected = torch.from_numpy(np.median(x.double().numpy(), axis=0)).to(kind)
    for given in (x, list(x), tuple(x), x.clone().requires_grad_(), [torch.nn.Parameter(row) for row in x], x.t().contiguous().t(),
                  torch.cat([x, x], dim=1)[:, :24], -(-x)):
        found = medgrad.aggregate(given)
        assert type(found) is torch.Tensor and found.dtype == kind and not found.requires_grad and torch.equal(found, expected)
    assert torch.equal(medgrad.aggregate(x.reshape(7, 2, 3, 4)), expected.reshape(2, 3, 4))
    assert medgrad.aggregate(rows(7, 0, kind)).shape == (0,)
    assert torch.equal(medgrad.prox("l1", x, 1e9), torch.zeros_like(x))
    tracker = medgrad.Estimator("momentum", tau=1.0)
    assert torch.equal(tracker.update(x[0]), (x[0].double() / 2).to(kind)) and tracker.update(x[1]).dtype == kind


def test_whole_numbers_and_rows_of_two_kinds():
    assert medgrad.aggregate(torch.tensor([[1, 5], [2, 6], [9, 7]])).tolist() == [2, 6]
    mixed = medgrad.aggregate([torch.ones(3), torch.zeros(3, dtype=torch.float64), torch.ones(3)])
    assert mixed.tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_lists_of_tensors(kind):
    x = rows(60, 24, kind)
    for given in (list(x), [torch.nn.Parameter(row) for row in x]):
        assert torch.equal(medgrad.prox("l1", given, 1), medgrad.prox("l1", x, 1))
        assert torch.equal(medgrad.project(given, 2, 1), medgrad.project(x, 2, 1))
        assert repr(medgrad.tail_index(given)) == repr(medgrad.tail_index(x))
    law = medgrad.Stable(1.5)
    assert np.array_equal(law.pdf(list(x[0])), law.pdf(x[0]))  # of no axis
    with pytest.raises(ValueError, match=r"row 1 has the shape \(3,\), row 0 has \(2,\)"):
        medgrad.prox("l1", [torch.ones(2), torch.ones(3)], 1)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("d", [24, 300_001])
def test_a_result_where_the_caller_wants_it(kind, d):
    x = rows(5, d, kind)
    expected = medgrad.aggregate(x)
    for out in (torch.empty(d, dtype=kind), torch.empty(2 * d, dtype=kind)[::2]):
        assert medgrad.aggregate(x, out=out) is out and torch.equal(out, expected)
    wide = torch.empty(d, dtype=torch.float64)
    assert torch.equal(medgrad.aggregate(x, out=wide).to(kind), expected)
    array = np.empty(d)
    assert medgrad.aggregate(x, out=array) is array and torch.equal(torch.from_numpy(array).to(kind), expected)
    mine = torch.empty(d, dtype=torch.float32)
    assert torch.equal(medgrad.aggregate(x.numpy().astype(np.float32) if kind == torch.float32 else x, out=mine), expected.float())
    medgrad.aggregate(x, out=x[2])  # one of the rows
    assert torch.equal(x[2], expected)


@pytest.mark.parametrize("out, kind, sentence", [
    (lambda: torch.empty(23), ValueError, "out has the shape (23,); the result has (24,)."),
    (lambda: torch.empty(24, dtype=torch.int64), TypeError, "must be dense, of real numbers, on the CPU"),
    (lambda: torch.empty(24, device="meta"), TypeError, "on the device meta"),
    (lambda: torch.empty(24, requires_grad=True), ValueError, "out requires gradients"),
    (lambda: torch.empty(24).to_sparse(), TypeError, "must be dense"),
])
def test_where_no_result_can_go(out, kind, sentence):
    with pytest.raises(kind) as told:
        medgrad.aggregate(rows(), out=out())
    assert sentence in str(told.value)


@pytest.mark.parametrize("x, sentence", [
    (lambda: Foreign(rows(kind=torch.bfloat16)), "It must be on the CPU, of a type that numpy has."),
    (lambda: torch.empty(3, 4, device="meta"), "x is on the device meta; it must be on the CPU."),
    (lambda: rows().to_sparse(), "x is sparse"),
    (lambda: rows() + 0j, "x has the type complex"),
    (lambda: [rows()[0], torch.empty(24, device="meta")], "row 1 is on the device meta"),
])
def test_what_cannot_be_taken(x, sentence):
    with pytest.raises(TypeError) as told:
        medgrad.aggregate(x())
    assert sentence in str(told.value)


@pytest.mark.skipif(not hasattr(torch.autograd.graph, "increment_version"), reason="this PyTorch cannot be told")
def test_autograd_knows_that_a_result_was_written():
    w, out = torch.ones(24, requires_grad=True), torch.ones(24)
    loss = (w * out).sum()
    medgrad.aggregate(rows(), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
