"""medgrad.aggregate: the same bits as the command, any kind of array, sentences for mistakes."""
import array
import sys
import threading

import medgrad
import numpy as np
import pytest
from foreign import Foreign
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from medgrad._aggregate import rows_of

RULES = [rule["name"] for rule in medgrad.methods()["rules"]]
NEEDS = {"lp-median": {"p": 3}}


def sample(n=11, d=37, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_t(2, (n, d)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES + ["nnm+median", "arc+bucketing+geometric-median", "clip:clip=3+krum"])
def test_equals_the_command(rule, dtype, command):
    x = sample(dtype=dtype)
    parameters = NEEDS.get(rule, {})
    options = [part for name, value in parameters.items() for part in (f"--{name}", value)]
    expected = command("aggregate", rule, *options, x=x)
    found = medgrad.aggregate(x, rule, **parameters)
    assert found.dtype == dtype and found.shape == (37,)
    assert np.array_equal(found, expected.ravel())


def test_shapes_lists_and_views():
    x = sample(7, 24)
    median = np.median(x, axis=0)
    assert np.array_equal(medgrad.aggregate(x), median)
    assert np.array_equal(medgrad.aggregate(list(x)), median)
    assert np.array_equal(medgrad.aggregate(tuple(x)), median)
    assert medgrad.aggregate(x.reshape(7, 2, 3, 4)).shape == (2, 3, 4)
    assert np.array_equal(medgrad.aggregate([row.reshape(4, 6) for row in x]), median.reshape(4, 6))
    assert np.array_equal(medgrad.aggregate(np.asfortranarray(x)), median)
    assert np.array_equal(medgrad.aggregate(x[::-1]), median)
    assert np.array_equal(medgrad.aggregate(np.hstack([x, x])[:, ::2]), medgrad.aggregate(np.hstack([x, x])[:, ::2].copy()))
    assert np.array_equal(medgrad.aggregate(np.hstack([x, x])[:, :24]), median)
    x.flags.writeable = False
    assert np.array_equal(medgrad.aggregate(x), median)
    assert medgrad.aggregate(np.zeros((3, 0))).shape == (0,)
    assert medgrad.aggregate(np.zeros((3, 0, 2))).shape == (0, 2)
    for numbers in (np.arange(9.0), list(np.arange(9.0)), [np.array(float(k)) for k in range(9)]):  # vectors of no axis
        assert medgrad.aggregate(numbers) == 4 and medgrad.aggregate(numbers).shape == ()
    assert medgrad.aggregate(np.arange(9, dtype=np.int16).reshape(9, 1)).dtype == np.float64
    assert medgrad.aggregate(np.array([[1, 2], [3, 4], [5, 6]], dtype=">f4"))[1] == 4


def test_a_class_of_ones_own_and_dlpack():
    class Mine(np.ndarray):
        pass

    x = sample()
    assert np.array_equal(medgrad.aggregate(x.view(Mine)), np.median(x, axis=0))
    assert np.array_equal(medgrad.aggregate(Foreign(x)), np.median(x, axis=0))
    assert np.array_equal(medgrad.aggregate([Foreign(row) for row in x]), np.median(x, axis=0))


def test_buffers_go_in_and_out_without_a_copy():
    x = sample()
    median = np.median(x, axis=0)
    rows = [array.array("d", row) for row in x]
    for given in (memoryview(x), rows, [memoryview(row) for row in x]):
        assert np.array_equal(medgrad.aggregate(given), median)
    assert all(np.shares_memory(kept, row) for kept, row in zip(rows_of(rows)[0], rows))
    for out in (array.array("d", median * 0), array.array("f", median * 0), memoryview(np.zeros(37)), bytearray(37 * 8)):
        out = memoryview(out).cast("d") if isinstance(out, bytearray) else out
        assert medgrad.aggregate(x, out=out) is out and np.allclose(out, median, rtol=1e-7)


def test_what_is_masked_is_missing():
    x = np.ma.masked_greater(np.array([[1.0, 2.0], [3.0, 4.0], [1e9, 6.0]]), 1e8)
    with pytest.raises(ValueError, match="row 3, column 1"):
        medgrad.aggregate(x, "mean")
    assert medgrad.aggregate(x, "mean", non_finite="robust").tolist() == [2, 4]
    whole = np.ma.masked_equal(np.array([[1], [7], [3]]), 7)
    assert medgrad.aggregate(whole, "mean", non_finite="robust").tolist() == [2]
    assert np.isnan(medgrad.Stable(1.5).pdf(np.ma.masked_less(np.array([-1.0, 1.0]), 0))[0])


def test_arrays_at_odd_addresses():
    x = sample(9, 5000, np.float32)
    odd = np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)
    assert not odd.flags.aligned
    assert np.array_equal(medgrad.aggregate(odd, "geometric-median"), medgrad.aggregate(x, "geometric-median"))
    assert np.array_equal(medgrad.aggregate(list(odd), "geometric-median"), medgrad.aggregate(x, "geometric-median"))
    assert medgrad._arrays.array(odd).flags.aligned


def test_info():
    x = sample()
    x[0, 3], x[1, 4] = np.nan, np.inf
    result, info = medgrad.aggregate(x, "geometric-median", non_finite="robust", return_info=True)
    assert np.isfinite(result).all()
    assert info["nan"] == 1 and info["inf"] == 1 and info["iterations"] > 0 and 0 <= info["gap"] < 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [0, 1, 37, 300_001])
def test_a_result_where_the_caller_wants_it(dtype, d):
    x = sample(5, d, dtype)
    expected = np.median(x, axis=0)
    mine = np.full(d, np.nan, dtype)
    assert medgrad.aggregate(x, out=mine) is mine and np.array_equal(mine, expected)
    result, info = medgrad.aggregate(list(x), "geometric-median", out=mine, return_info=True)
    assert result is mine and info["iterations"] >= 0
    assert np.array_equal(mine, medgrad.aggregate(x, "geometric-median"))
    # Of another type, spread out, at an odd address, backward: copied to.
    for target in (np.empty(d, np.float64 if dtype == np.float32 else np.float32), np.empty(2 * d, dtype)[::2], np.empty(d, dtype)[::-1],
                   np.frombuffer(bytearray(1 + d * x.itemsize), dtype, offset=1), np.empty(d, np.float16)):
        assert medgrad.aggregate(x, out=target) is target
        assert np.array_equal(target, expected.astype(target.dtype))
    # One of the rows, or the centre: they are read before they are written to.
    for k in range(5):
        rows = x.copy()
        medgrad.aggregate(rows, "geometric-median", out=rows[k])
        assert np.array_equal(rows[k], medgrad.aggregate(x, "geometric-median"))
    center = np.zeros(d, dtype)
    expected = medgrad.aggregate(x, "centered-clipping", clip=1.0, center=center)
    medgrad.aggregate(x, "centered-clipping", clip=1.0, center=center, out=center)
    assert np.array_equal(center, expected)


def test_results_of_any_shape_where_the_caller_wants_them(tmp_path):
    x = sample(5, 24)
    room = np.empty((2, 3, 4))
    assert np.array_equal(medgrad.aggregate(x.reshape(5, 2, 3, 4), out=room).ravel(), np.median(x, axis=0))
    number = np.empty(())
    assert medgrad.aggregate(x[:, 0], out=number) is number and number == np.median(x[:, 0])
    file = np.memmap(tmp_path / "m", x.dtype, "w+", shape=24)
    assert np.array_equal(medgrad.aggregate(x, out=file), np.median(x, axis=0))
    with pytest.raises(ValueError, match="column 1"):
        medgrad.aggregate(x * np.nan, out=file)


@pytest.mark.parametrize("out, kind, sentence", [
    (lambda: np.empty(36), ValueError, "out has the shape (36,); the result has (37,)."),
    (lambda: np.empty((1, 37)), ValueError, "out has the shape (1, 37)"),
    (lambda: np.empty(37, int), TypeError, "out has the type int64; the result has float64."),
    (lambda: np.ma.masked_all(37), TypeError, "out is MaskedArray; it must be a numpy array, a tensor of torch or a writable buffer."),
    (lambda: [0.0] * 37, TypeError, "out is list"),
    (lambda: bytearray(37), TypeError, "out has the type uint8; the result has float64."),
    (lambda: memoryview(np.zeros(36)), ValueError, "out has the shape (36,); the result has (37,)."),
    (lambda: memoryview(np.zeros(37).tobytes()).cast("d"), ValueError, "out cannot be written to."),
    (lambda: np.broadcast_to(0.0, 37), ValueError, "out cannot be written to."),
])
def test_where_no_result_can_go(out, kind, sentence):
    with pytest.raises(kind) as told:
        medgrad.aggregate(sample(), out=out())
    assert sentence in str(told.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", ["median", "trimmed-mean", "meamed", "mean", "geometric-median", "huber-location"])
def test_results_do_not_depend_on_where_the_rows_are(rule, dtype):
    """Rows that are all off the lines of the cache by the same are read in another rhythm."""
    for n in (3, 9, 20, 33, 100):
        x = sample(n, 1040, dtype)
        parameters = {"f": n // 4} if rule in ("trimmed-mean", "meamed") else {}
        memory = np.empty(x.size + 32, dtype)
        line = -memory.ctypes.data % 64 // x.itemsize
        found = []
        for shift in (0, 1, 4, 15):
            rows = memory[line + shift:line + shift + x.size].reshape(x.shape)
            rows[...] = x
            found.append(medgrad.aggregate(rows, rule, **parameters))
        assert all(np.array_equal(found[0], other) for other in found[1:])


def test_results_are_each_ones_own():
    """The memory of a result that is gone serves the next one, and no other."""
    x = sample(3, 500_000)
    kept, expected = [], []
    for k in range(12):
        rows = x[:, :500_000 - 40_000 * (k % 5)] + k
        kept.append(medgrad.aggregate(rows))
        expected.append(np.median(rows, axis=0))
        if k % 3 == 2:
            del kept[0], expected[0]
        view = kept[-1][100:200]
        if k % 4 == 3:
            kept[-1], expected[-1] = view, expected[-1][100:200]
    assert all(np.array_equal(one, other) for one, other in zip(kept, expected))
    assert all(one.flags.writeable for one in kept)


def test_weights_and_center():
    x = sample(5, 3)
    doubled = medgrad.aggregate(np.vstack([x, x[:1]]), "mean")
    assert np.allclose(medgrad.aggregate(x, "mean", weights=[2, 1, 1, 1, 1]), doubled)
    assert np.array_equal(medgrad.aggregate(x, "clipped-mean", clip=1e-9, center=[1, 2, 3]).round(6), [1, 2, 3])


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda x: medgrad.aggregate(x, "medain"), ValueError, "'medain' is not an aggregator. Did you mean 'median'?"),
    (lambda x: medgrad.aggregate(x, "krum", g=1), ValueError, "g is not a parameter of krum"),
    (lambda x: medgrad.aggregate(x, "krum", f=-1), ValueError, "f is -1"),
    (lambda x: medgrad.aggregate(x, "krum", f=5), ValueError, "f is 5; with 11 rows it must be at most 4."),
    (lambda x: medgrad.aggregate(x, "krum", f=1.5), ValueError, "f is 1.5"),
    (lambda x: medgrad.aggregate(x, "krum", f=[1]), TypeError, "f is [1]; it must be a number or text."),
    (lambda x: medgrad.aggregate(x, non_finite="drop"), ValueError, "non_finite is 'drop'"),
    (lambda x: medgrad.aggregate(x * np.nan), ValueError, "row 1, column 1"),
    (lambda x: medgrad.aggregate(x + 0j), TypeError, "x has the type complex128; it must hold real numbers."),
    (lambda x: medgrad.aggregate([x[0], x[1, :3]]), ValueError, "row 1 has the shape (3,), row 0 has (37,)"),
    (lambda x: medgrad.aggregate(x, weights=[1, 2]), ValueError, "weights"),
    (lambda x: medgrad.aggregate(x, "mean", weights=-np.ones(11)), ValueError, "weight"),
    (lambda x: medgrad.aggregate(row for row in x), TypeError, "x is generator; it must be an array of real numbers"),
    (lambda x: medgrad.aggregate(None), TypeError, "x is NoneType"),
    (lambda x: medgrad.aggregate(3.0), ValueError, "x is a single number"),
    (lambda x: medgrad.aggregate(x[:0]), ValueError, "row"),
])
def test_mistakes(call, kind, sentence):
    with pytest.raises(kind) as told:
        call(sample())
    assert sentence in str(told.value)


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(0, 9)),
                     elements=st.floats(-1e300, 1e300)))
def test_the_median_is_numpys_and_lies_between(x):
    found = medgrad.aggregate(x, "median")
    assert found.shape == x.shape[1:]
    assert (found >= x.min(axis=0)).all() and (found <= x.max(axis=0)).all()
    if len(x) % 2 == 1:
        assert np.array_equal(found, np.median(x, axis=0))


def test_computing_releases_the_gil():
    """A thread that waits for the GIL, which nobody is asked to give up, runs while another computes."""
    x = sample(31, 100_000)
    start, ran = threading.Lock(), []
    start.acquire()

    def wait():
        with start:
            ran.append(True)

    other, before = threading.Thread(target=wait), sys.getswitchinterval()
    other.start()
    sys.setswitchinterval(1000)
    try:
        start.release()
        for _ in range(100):  # it is up to the machine when a thread wakes up
            if not ran:
                medgrad.aggregate(x, "geometric-median", threads=1)
        during = bool(ran)
    finally:
        sys.setswitchinterval(before)
        other.join()
    assert during


def test_threads_give_the_same_bits():
    x = sample(9, 200_000, np.float32)
    expected = medgrad.aggregate(x, "geometric-median", threads=1)
    results = [None] * 4

    def work(i):
        results[i] = medgrad.aggregate(x, "geometric-median", threads=i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(result, expected) for result in results)
