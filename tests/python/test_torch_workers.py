"""Workers of torch.distributed: the bits of one process, on every rank; wrong, broken and dead ones."""
import multiprocessing
import os
import pathlib
import traceback

import medgrad
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
dist = torch.distributed
if not dist.is_available() or not hasattr(dist, "ProcessGroupGloo"):
    pytest.skip("this PyTorch has no Gloo", allow_module_level=True)
import medgrad.torch as mt  # noqa: E402

RULES = [(rule["name"], {"p": 3} if rule["name"] == "lp-median" else {"f": 0} if "krum" in rule["name"] else {})
         for rule in medgrad.methods()["rules"]]
RULES += [("nnm+median", {"f": 1}), ("clip:clip=3+geometric-median", {}), ("arc+bucketing+trimmed-mean", {"f": 1, "bucket": 1})]
N = 4


def vector(rank, kind, d=1000):
    return np.random.default_rng(rank).standard_t(2, d).astype(kind)


def on_all_ranks(work, folder, n=N):
    """Runs work(rank, store) in n processes; what each returned, or None of one that died."""
    context = multiprocessing.get_context("fork")  # torch is loaded already

    def body(rank, end):
        torch.set_num_threads(1)
        store = dist.FileStore(str(pathlib.Path(folder) / "store"), n)
        try:
            result = work(rank, store)
        except BaseException:
            result = traceback.format_exc()
        end.send(result)
        end.close()
        os._exit(0)  # without the interpreter's end, which is pytest's

    workers, ends = [], []
    for rank in range(n):
        mine, theirs = context.Pipe(duplex=False)
        workers.append(context.Process(target=body, args=(rank, theirs)))
        workers[-1].start()
        theirs.close()
        ends.append(mine)
    results = []
    for worker, end in zip(workers, ends):
        try:
            results.append(end.recv() if end.poll(120) else "nothing came")
        except EOFError:
            results.append(None)
        worker.join(10)
        assert not worker.is_alive()
    return results


def in_a_group(work):
    def body(rank, store):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
        return work(rank)

    return body


def everything(rank):
    """All that needs four living ranks, so that they start once. A list of what is wrong."""
    wrong = []

    def check(name, holds):
        if not holds:
            wrong.append(name)

    # Every rule has the bits of one process.
    for kind in (np.float32, np.float64):
        rows = np.stack([vector(r, kind) for r in range(N)])
        for rule, parameters in RULES:
            x = torch.from_numpy(vector(rank, kind)).reshape(10, 100)
            info = mt.robust_all_reduce(x, rule, **parameters)
            check((rule, kind), np.array_equal(x.numpy().ravel(), medgrad.aggregate(rows, rule, **parameters,
                                                                                  non_finite="robust", round=info["step"])))
    # Traffic as that of a ring all-reduce: 2 (n-1)/n d numbers, checksums and greetings beside.
    d = 100_000
    x = torch.from_numpy(vector(rank, np.float32, d))
    info = mt.robust_all_reduce(x, "median")
    check("traffic", info["sent"] < 1.05 * 2 * (N - 1) / N * d * 4 and info["received"] < 1.05 * 2 * (N - 1) / N * d * 4)
    # A server; other types; no entries at all.
    x = torch.from_numpy(vector(rank, np.float32))
    mt.robust_all_reduce(x, "median", topology="server", server=1)
    check("server", np.array_equal(x.numpy(), np.median(np.stack([vector(r, np.float32) for r in range(N)]), axis=0)))
    x = torch.full((5,), float(rank), dtype=torch.bfloat16)
    mt.robust_all_reduce(x, "mean")
    check("bfloat16", x.dtype == torch.bfloat16 and (x == 1.5).all())
    mt.robust_all_reduce(torch.zeros(0), "median")
    # A rank of nothing but NaN.
    x = torch.full((7,), float("nan")) if rank == 2 else torch.full((7,), float(rank + 1))
    info = mt.robust_all_reduce(x, "median", report=True)
    check("a rank of NaN", (x == 2).all() and info["nan"] == 7 and info["workers"][2]["nan"] == 7)
    # A rank that is about something else is named everywhere, and nothing changes.
    x = torch.ones(3 if rank == 1 else 4)
    try:
        mt.robust_all_reduce(x, "median")
        check("another length", False)
    except ValueError as told:
        check("another length", "1" in str(told) and (x == 1).all())
    try:
        mt.robust_all_reduce(torch.full((3,), float("nan")), "median", non_finite="reject")
        check("reject", False)
    except ValueError:
        pass
    wrong += with_a_hook(rank)
    return wrong


def with_a_hook(rank):
    """DistributedDataParallel: the gradients are the rule's result for those of the ranks, whatever the buckets."""
    wrong = []

    def gradient(r, noise=0.0):
        net = make()
        x = torch.from_numpy(vector(r, np.float32, 60).reshape(6, 10))
        net(x).square().sum().backward()
        return np.concatenate([w.grad.numpy().ravel() for w in net.parameters()])

    def make():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(10, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))

    x = torch.from_numpy(vector(rank, np.float32, 60).reshape(6, 10))
    for rule, parameters in (("median", {}), ("nnm+geometric-median", {"f": 1}), ("krum", {"f": 0})):
        for cap in (25, 0.001):
            net = make()
            model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
            model.register_comm_hook(None, mt.ddp_hook(rule, **parameters))
            for _ in range(2):  # buckets are made anew after the first pass
                model.zero_grad()
                model(x).square().sum().backward()
            # DistributedDataParallel lays out the gradient from the last parameter to the first, in buckets.
            found = [w.grad.numpy().ravel() for w in net.parameters()]
            rows = np.stack([gradient(r) for r in range(N)])
            expected = medgrad.aggregate(rows, rule, **parameters)
            if not np.allclose(np.concatenate(found), expected, rtol=1e-5, atol=1e-6):
                wrong.append(("hook", rule, cap))
            if rule == "median" and not np.array_equal(np.concatenate(found), expected):
                wrong.append(("hook, bits", rule, cap))
    return wrong


def test_four_ranks(tmp_path):
    assert on_all_ranks(in_a_group(everything), tmp_path) == [[]] * N


def test_a_rank_that_dies_is_told_and_nothing_changes(tmp_path):
    def work(rank):
        x = torch.full((5000,), float(rank))
        mt.robust_all_reduce(x.clone(), "median")
        if rank == 3:
            os._exit(9)
        try:
            mt.robust_all_reduce(x, "median")
            return "nobody noticed"
        except mt.WorkerLost as told:
            return "A worker is gone or too late" in str(told) and bool((x == rank).all())

    assert on_all_ranks(in_a_group(work), tmp_path) == [True, True, True, None]


def test_a_crew_goes_on_without_the_dead(tmp_path):
    def work(rank, store):
        crew = mt.Crew(store, rank, N, timeout=3)
        x = torch.full((100,), float(rank))
        crew.all_reduce(x, "mean")
        if rank == 1:
            os._exit(9)
        y = torch.full((100,), float(rank))
        info = crew.all_reduce(y, "mean")
        return float(x[0]), float(y[0]), info["members"], crew.rank

    results = on_all_ranks(work, tmp_path)
    mean = float(np.float32(5) / np.float32(3))
    assert results[1] is None
    assert [results[r] for r in (0, 2, 3)] == [(1.5, pytest.approx(mean), [0, 2, 3], k) for k in range(3)]
