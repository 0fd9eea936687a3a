"""One robust vector from those of the workers of a process group."""
import datetime
import itertools
import time
import weakref
from typing import Any, Callable, Dict, List

import numpy as np
import torch
import torch.distributed as dist

from .. import _core
from .._aggregate import _rule, policy
from .._arguments import one_of, real, text, whole
from ._settings import Number

WorkerLost = _core.WorkerLost
# Rules that take each component by itself: the buckets of DistributedDataParallel need not wait for each other.
_BY_COMPONENT = ("mean", "median", "trimmed-mean", "meamed")
_steps: Any = weakref.WeakKeyDictionary()


def _engine(group, device):
    """The all-to-all of a process group of torch.distributed, on bytes of the CPU."""

    def exchange(send, send_sizes, receive, receive_sizes):
        theirs = torch.from_numpy(receive)
        to = theirs if device is None else torch.empty(len(receive), dtype=torch.uint8, device=device)
        start = torch.from_numpy(send) if device is None else torch.from_numpy(send).to(device)
        work = dist.all_to_all_single(to, start, receive_sizes, send_sizes, group=group, async_op=True)

        def wait():
            work.wait()
            if device is not None:
                theirs.copy_(to)

        return wait

    return exchange


def _group_of(group):
    """The process group, of which this process must be a member."""
    if not dist.is_initialized():
        raise RuntimeError("there is no process group; torch.distributed.init_process_group makes one.")
    group = dist.group.WORLD if group is None else group
    if group is dist.GroupMember.NON_GROUP_MEMBER or dist.get_rank(group) < 0:
        raise ValueError("this rank is not in the group; only its members can take part.")
    return group


def _workers_of(group, tensor):
    device = tensor.device if dist.get_backend(group) == "nccl" else None
    return _core.Workers(dist.get_rank(group), dist.get_world_size(group), dist.get_backend(group), _engine(group, device))


def _check(tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor is {type(tensor).__name__}; it must be a tensor of torch.")


def _aggregate(workers, tensor, rule, step, topology, server, non_finite, weights, center, report):
    """Writes the result to the tensor, or raises and leaves it as it was."""
    _check(tensor)
    if tensor.layout != torch.strided or not tensor.is_floating_point():
        raise TypeError(f"tensor is {tensor.dtype}, {tensor.layout}; it must be dense, of real numbers.")
    kind = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    mine = tensor.detach().to("cpu", kind).contiguous().reshape(-1).numpy()
    out = np.empty_like(mine)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64).ravel()
    if center is not None:
        center = np.ascontiguousarray(torch.as_tensor(center).detach().to("cpu", kind).reshape(-1).numpy())
    info = workers.aggregate(rule, mine, out, text("topology", topology), whole("server", server, 0, 2**31 - 1), step, weights,
                             center, policy(non_finite), torch.get_num_threads(), report)
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(out).reshape(tensor.shape))
    return {**info, "step": step}


def robust_all_reduce(tensor: torch.Tensor, rule: str = "median", group: Any = None, *, topology: str = "sharded",
                      server: int = 0, non_finite: str = "robust", weights: Any = None, center: Any = None,
                      report: bool = False, **parameters: Number) -> Dict[str, Any]:
    """Replaces the tensor of every rank by the rule's result for the tensors of all ranks: torch.distributed.all_reduce that
    bears workers with wrong numbers, as many as the rule does.

    rule and parameters are those of medgrad.aggregate: "median", "nnm+geometric-median", f=1. group: any process group with
    an all-to-all (gloo, nccl, mpi), or a Crew; the default group where it is left out. The result has the bits of
    medgrad.aggregate on the stacked tensors, on every rank.

    topology: "sharded" (every rank gets some columns of all vectors, 2 (n-1)/n d numbers in and out as in a ring all-reduce;
    inner products of whole vectors are summed up over the ranks) or "server" (one rank, which all must trust, gets all).
    non_finite: "robust" (a NaN is missing, an infinity as large as a number can be) or "reject" (a ValueError everywhere).

    The result is a dict: iterations, objective, gap, stop, nan, inf, bytes sent and received; with report=True also "workers",
    one dict per rank (distance from the result, weight, what was not finite).

    A rank whose tensor has another length or type, or whose rule is another, is named in a ValueError on all of them. A rank
    that is dead or silent beyond the group's timeout is a WorkerLost (a RuntimeError) on the others, whose tensors stay as
    they were; a medgrad.torch.Crew in place of the group goes on with those that are left.
    """
    made = _rule(rule, parameters)
    _check(tensor)
    if isinstance(group, Crew):
        if weights is not None:
            raise ValueError("a crew takes no weights: who is in it may change.")
        return group._all_reduce(tensor, made, topology, server, non_finite, center, report)
    group = _group_of(group)
    counter = _steps.setdefault(group, itertools.count())
    return _aggregate(_workers_of(group, tensor), tensor, made, next(counter), topology, server, non_finite, weights, center,
                      report)


def ddp_hook(rule: str = "median", group: Any = None, *, topology: str = "sharded", server: int = 0,
             non_finite: str = "robust", weights: Any = None, center: Any = None,
             **parameters: Number) -> Callable[[Any, Any], torch.futures.Future[torch.Tensor]]:
    """A communication hook for DistributedDataParallel, which takes the mean of the workers' gradients; with it, a robust centre.

        model = torch.nn.parallel.DistributedDataParallel(net)
        model.register_comm_hook(None, medgrad.torch.ddp_hook("nnm+median", f=1))

    The rule sees the whole gradient: buckets wait for the last one, unless the rule takes each component by itself ("mean",
    "median", "trimmed-mean", "meamed"). The arguments are those of robust_all_reduce.

    A rank that dies is an error of backward() on the others: autograd makes a RuntimeError of WorkerLost. With a Crew for the
    group, those that are left go on without it:

        crew = medgrad.torch.Crew(store, rank, size, timeout=30)
        model = torch.nn.parallel.DistributedDataParallel(net, broadcast_buffers=False)
        model.register_comm_hook(None, medgrad.torch.ddp_hook("median", group=crew))

    The model's own group, which dies with the first rank, is then used at the start only, as long as DistributedDataParallel
    neither broadcasts buffers nor looks for unused parameters.
    """
    _rule(rule, parameters)  # what is wrong is told now, and not in backward()
    one_of("topology", topology, ("sharded", "server"), repr)
    policy(non_finite)
    options = {"topology": topology, "server": whole("server", server), "non_finite": non_finite, "weights": weights,
               "center": center, **parameters}
    alone = rule.split(":")[0] in _BY_COMPONENT and "auto" not in (rule + str(parameters.get("f", "")))
    waiting: List[Any] = []

    def hook(state, bucket):
        future = torch.futures.Future()
        if alone:
            robust_all_reduce(bucket.buffer(), rule, group, **options)
            future.set_result(bucket.buffer())
            return future
        if bucket.index() == 0:
            waiting.clear()  # of a backward pass that was given up
        waiting.append((bucket.buffer(), future))
        if bucket.is_last():
            buffers = [buffer for buffer, _ in waiting]
            together = torch.cat([buffer.reshape(-1) for buffer in buffers])
            robust_all_reduce(together, rule, group, **options)
            for (buffer, done), part in zip(waiting, together.split([buffer.numel() for buffer in buffers])):
                buffer.copy_(part.reshape(buffer.shape))
                done.set_result(buffer)
            waiting.clear()
        return future

    return hook


class Crew:
    """Workers that go on when some of them die: a Gloo group that is made anew of those that are left.

    store is a torch.distributed store that outlives every worker: a FileStore, or a TCPStore in a process of its own. rank and
    size are those at the start. Whoever does not answer within `timeout` seconds is left out. `quorum`: with fewer left, a
    RuntimeError.

        crew = medgrad.torch.Crew(store, rank, size, timeout=30)
        crew.all_reduce(flat_gradient, "median")
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: float = 30.0, quorum: int = 1) -> None:
        self.members = list(range(whole("size", size, 1)))
        self.worker = whole("rank", rank, 0, size - 1)  # for good; rank changes
        self.timeout = real("timeout", timeout)
        self.quorum = whole("quorum", quorum)
        self.step = 0
        self._store = store
        self._epoch = 0
        self._join()

    @property
    def rank(self) -> int:
        return self.members.index(self.worker)

    def _join(self):
        span = datetime.timedelta(seconds=self.timeout)
        store = dist.PrefixStore(f"medgrad/{self._epoch}", self._store)
        self._group = dist.ProcessGroupGloo(store, self.rank, len(self.members), span)
        group = self._group

        def exchange(send, send_sizes, receive, receive_sizes):
            work = group.alltoall_base(torch.from_numpy(receive), torch.from_numpy(send), receive_sizes, send_sizes)
            return work.wait

        self._workers = _core.Workers(self.rank, len(self.members), "gloo", exchange)

    def _regroup(self):
        """All that are left come to the same list of members: the first to have waited long enough writes it down."""
        self._workers = self._group = None  # the others notice at once
        self._epoch += 1
        place = f"medgrad/crew/{self._epoch}"
        self._store.add(f"{place}/{self.worker}", 1)
        deadline = time.monotonic() + self.timeout  # whoever is alive has noticed by then
        while time.monotonic() < deadline and not self._there(f"{place}/decided"):
            if all(self._there(f"{place}/{other}") for other in self.members):
                break  # a false alarm: nobody is gone
            time.sleep(0.02)
        here = [other for other in self.members if self._there(f"{place}/{other}")]
        chosen = self._store.compare_set(f"{place}/members", "", ",".join(map(str, here)))
        self._store.add(f"{place}/decided", 1)
        self.members = [int(member) for member in bytes(chosen).decode().split(",")]
        if self.worker not in self.members:
            raise RuntimeError("the others went on without this worker, which was too late.")
        if len(self.members) < self.quorum:
            raise RuntimeError(f"{len(self.members)} of the workers are left, and the quorum is {self.quorum}.")
        self._join()

    def _there(self, key):
        return self._store.add(key, 0) > 0

    def all_reduce(self, tensor: torch.Tensor, rule: str = "median", *, topology: str = "sharded", server: int = 0,
                   non_finite: str = "robust", center: Any = None, report: bool = False, **parameters: Number) -> Dict[str, Any]:
        """robust_all_reduce over those that are left; where some are lost it is done again without them."""
        return self._all_reduce(tensor, _rule(rule, parameters), topology, server, non_finite, center, report)

    def _all_reduce(self, tensor, rule, topology, server, non_finite, center, report):
        while True:
            try:
                info = _aggregate(self._workers, tensor, rule, self.step, topology, server, non_finite, None, center, report)
                self.step += 1
                return {**info, "members": list(self.members)}
            except WorkerLost:
                self._regroup()
