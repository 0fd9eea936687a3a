"""Workers of torch.distributed: the bits of one process, on every rank; wrong, broken and dead ones."""
import itertools
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
    # What is wrong is told on every rank alike, and the group can be used after it.
    some = dist.new_group([0, 1])
    for name, call, kind, sentence in (
            ("a stranger", lambda: rank < 2 or mt.robust_all_reduce(torch.ones(3), group=some), ValueError, "not in the group"),
            ("numpy", lambda: mt.robust_all_reduce(np.ones(3)), TypeError, "tensor is ndarray"),
            ("server", lambda: mt.robust_all_reduce(torch.ones(3), server="a"), TypeError, "server is 'a'"),
            ("a center", lambda: mt.robust_all_reduce(torch.ones(3), center=torch.ones(3)), ValueError, "does not take center")):
        try:
            call()
            check(name, name == "a stranger" and rank < 2)
        except kind as told:
            check(name, sentence in str(told))
    x = torch.full((3,), float(rank))
    mt.robust_all_reduce(x, "mean")
    check("the group goes on", (x == 1.5).all())
    return wrong


def make(width=50, kind=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(10, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)).to(kind)


def batch(rank, t=0, kind=np.float32):
    return torch.from_numpy(vector(rank + 100 * t, kind, 60).reshape(6, 10))


def gradient(rank, net=None, t=0):
    net = make() if net is None else net
    kind = np.float64 if net[0].weight.dtype == torch.float64 else np.float32
    return torch.autograd.grad(net(batch(rank, t, kind)).square().sum(), list(net.parameters()))


HOOKS = (("median", {}), ("mean", {}), ("trimmed-mean", {"f": 1}), ("geometric-median", {}), ("nnm+geometric-median", {"f": 1}),
         ("krum", {"f": 0}), ("huber", {}), ("clip:clip=3+centered-clipping", {}))
CAPS = (25, 0.001)  # of buckets: one, and many
WIDE = (2000, torch.float64)  # another order of so many would be other bits


def in_one(gradients):
    return np.concatenate([g.numpy().ravel() for g in gradients])


def with_hooks(rank, folder):
    """What the parameters have after the hooks of every rule, whatever the buckets, in files that the command can read."""
    np.save(f"{folder}/{rank}.npy", in_one(gradient(rank, make(*WIDE))))
    for k, (rule, parameters) in enumerate(HOOKS):
        for cap in CAPS:
            net = make(*WIDE)
            model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
            model.register_comm_hook(None, mt.ddp_hook(rule, **parameters))
            for t in range(3):  # buckets are made anew after the first pass
                model.zero_grad()
                model(batch(rank, kind=np.float64)).square().sum().backward()
                np.save(f"{folder}/{k}-{cap}-{t}-{rank}.npy", in_one(w.grad for w in net.parameters()))
    return []


def test_hooks_have_the_bits_of_the_command(tmp_path, command):
    assert on_all_ranks(in_a_group(lambda rank: with_hooks(rank, tmp_path)), tmp_path) == [[]] * N
    rows = np.stack([np.load(tmp_path / f"{rank}.npy") for rank in range(N)])
    for k, (rule, parameters) in enumerate(HOOKS):
        options = [part for name, value in parameters.items() for part in (f"--{name}", value)]
        expected = command("aggregate", rule, *options, x=rows).ravel()
        for cap, t, rank in itertools.product(CAPS, range(3), range(N)):
            assert np.array_equal(np.load(tmp_path / f"{k}-{cap}-{t}-{rank}.npy"), expected), (rule, cap, t, rank)


def test_a_hook_bears_a_rank_of_nan(tmp_path):
    def work(rank):
        wrong = []
        for rule, parameters in (("median", {}), ("geometric-median", {}), ("mean", {}), ("nnm+median", {"f": 1})):
            net = make()
            model = torch.nn.parallel.DistributedDataParallel(net)
            model.register_comm_hook(None, mt.ddp_hook(rule, **parameters))
            loss = model(batch(rank)).square().sum()
            (loss * float("nan") if rank == 2 else loss).backward()
            good = [torch.cat([g.ravel() for g in gradient(r)]).numpy() for r in range(N) if r != 2]
            found = np.concatenate([w.grad.numpy().ravel() for w in net.parameters()])
            if not np.isfinite(found).all():
                wrong.append(rule)
            if rule in ("median", "mean") and not np.allclose(found, getattr(np, rule)(good, axis=0), rtol=1e-4, atol=1e-5):
                wrong.append((rule, "those that are there"))
        return wrong

    assert on_all_ranks(in_a_group(work), tmp_path) == [[]] * N


@pytest.mark.parametrize("rule, parameters", [("median", {}), ("geometric-median", {})])
def test_a_hook_with_a_crew_goes_on_without_the_dead(rule, parameters, tmp_path):
    def work(rank, store):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
        crew = mt.Crew(dist.FileStore(str(tmp_path / "crew"), N), rank, N, timeout=3)
        net, seen = make(), []
        model = torch.nn.parallel.DistributedDataParallel(net, broadcast_buffers=False)
        model.register_comm_hook(None, mt.ddp_hook(rule, group=crew, **parameters))
        for t in range(5):
            if t == 3 and rank == 1:
                os._exit(9)
            model.zero_grad()
            model(batch(rank, t)).square().sum().backward()
            rows = np.stack([torch.cat([g.ravel() for g in gradient(r, net, t)]).numpy() for r in crew.members])
            found = np.concatenate([w.grad.numpy().ravel() for w in net.parameters()])
            if not np.allclose(found, medgrad.aggregate(rows, rule, **parameters), rtol=1e-4, atol=1e-5):
                return f"wrong in step {t}"
            seen.append(len(crew.members))
        return seen

    assert on_all_ranks(work, tmp_path) == [[4, 4, 4, 3, 3], None, [4, 4, 4, 3, 3], [4, 4, 4, 3, 3]]


def test_a_hook_without_a_crew_says_who_is_gone(tmp_path):
    def work(rank):
        net = make()
        model = torch.nn.parallel.DistributedDataParallel(net, broadcast_buffers=False)
        model.register_comm_hook(None, mt.ddp_hook("median"))
        for t in range(3):
            if t == 2 and rank == 1:
                os._exit(9)
            try:
                model(batch(rank, t)).square().sum().backward()
            except RuntimeError as told:
                return t == 2 and "A worker is gone or too late" in str(told) and "medgrad.torch.Crew in place" in str(told)
        return "nobody noticed"

    assert on_all_ranks(in_a_group(work), tmp_path) == [True, None, True, True]


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda: mt.ddp_hook("medain"), ValueError, "Did you mean 'median'"),
    (lambda: mt.ddp_hook(5), TypeError, "rule is 5; it must be text."),
    (lambda: mt.ddp_hook("krum", g=1), ValueError, "g is not a parameter of krum"),
    (lambda: mt.ddp_hook(topology="ring"), ValueError, "topology is 'ring'; it must be 'sharded' or 'server'."),
    (lambda: mt.ddp_hook(server="a"), TypeError, "server is 'a'; it must be a whole number"),
    (lambda: mt.ddp_hook(non_finite="no"), ValueError, "non_finite is 'no'"),
    (lambda: mt.robust_all_reduce(torch.ones(3)), RuntimeError, "there is no process group; torch.distributed.init_process_group"),
    (lambda: mt.robust_all_reduce(np.ones(3)), TypeError, "tensor is ndarray; it must be a tensor of torch."),
    (lambda: mt.Crew(None, 3, 3), ValueError, "rank is 3; it must be at most 2."),
])
def test_mistakes(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


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
            return "A worker is gone or too late" in str(told) and str(told).endswith(
                ". A medgrad.torch.Crew in place of the group goes on with those that are left.") and bool((x == rank).all())

    assert on_all_ranks(in_a_group(work), tmp_path) == [True, True, True, None]


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_those_who_lack_a_result_get_it_from_those_who_have_it(kind, tmp_path):
    """A worker dies at the end of a step, which one of the others has done and two have not."""
    class Unlucky:
        def __init__(self, workers):
            self.workers = workers

        def aggregate(self, *arguments):
            self.workers.aggregate(*arguments)
            raise mt.WorkerLost("A worker is gone")

    def work(rank, store):
        crew = mt.Crew(store, rank, N, timeout=3)
        rows = [torch.from_numpy(vector(rank + 10 * t, np.float64, 1001)).to(kind) for t in range(3)]
        infos = [crew.all_reduce(rows[0], "geometric-median")]
        if rank in (2, 3):
            crew._workers = Unlucky(crew._workers)
        infos.append(crew.all_reduce(rows[1], "geometric-median", report=True))
        if rank == 1:
            os._exit(9)
        infos.append(crew.all_reduce(rows[2], "geometric-median"))
        return [row.numpy() for row in rows], [(one["step"], one["gap"], one["iterations"]) for one in infos], crew.step, crew.members

    results = on_all_ranks(work, tmp_path)
    assert results[1] is None
    rows, infos, step, members = results[0]
    assert (step, members) == (3, [0, 2, 3])
    for other in (results[2], results[3]):
        assert all(np.array_equal(a, b) for a, b in zip(rows, other[0])) and other[1:] == (infos, step, members)
    for t, present in ((0, range(N)), (1, range(N)), (2, (0, 2, 3))):
        x = np.stack([vector(r + 10 * t, np.float64, 1001).astype(rows[0].dtype) for r in present])
        assert np.array_equal(rows[t], medgrad.aggregate(x, "geometric-median", non_finite="robust")), t


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
