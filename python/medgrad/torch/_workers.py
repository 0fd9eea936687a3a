"""One robust vector from those of the workers of a process group."""
import itertools
import weakref
from typing import Any, Callable, Dict, List

import torch
import torch.distributed as dist

from .. import _core
from .._aggregate import _rule, policy
from .._arguments import one_of, whole
from ._crew import Crew
from ._reduce import WorkerLost, check, reduced, write
from ._settings import Number

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
    check(tensor)
    if isinstance(group, Crew):
        if weights is not None:
            raise ValueError("a crew takes no weights: who is in it may change.")
        return group._all_reduce(tensor, made, topology, server, non_finite, center, report)
    group = _group_of(group)
    counter = _steps.setdefault(group, itertools.count())
    try:
        out, info = reduced(_workers_of(group, tensor), tensor, made, next(counter), topology, server, non_finite, weights, center,
                            report)
    except WorkerLost as lost:
        raise WorkerLost(f"{str(lost).rstrip('.')}. A medgrad.torch.Crew in place of the group goes on with those that are left.") \
            from None
    write(tensor, out)
    return info


def ddp_hook(rule: str = "median", group: Any = None, *, topology: str = "sharded", server: int = 0,
             non_finite: str = "robust", weights: Any = None, center: Any = None,
             **parameters: Number) -> Callable[[Any, Any], torch.futures.Future[torch.Tensor]]:
    """A communication hook for DistributedDataParallel, which takes the mean of the workers' gradients; with it, a robust centre.

        model = torch.nn.parallel.DistributedDataParallel(net)
        model.register_comm_hook(None, medgrad.torch.ddp_hook("nnm+median", f=1))

    The rule sees the whole gradient, in the order of the model: buckets wait for the last one, unless the rule takes each
    component by itself ("mean", "median", "trimmed-mean", "meamed"). So the bits do not depend on the buckets. The arguments are
    those of robust_all_reduce.

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
    places: Dict[int, Any] = {}  # of parameters in the vector, which are those in the model

    def in_order(parts):
        """Gradients in the order of the model, whatever the buckets are: those of the first pass are cut from the model in turn,
        beginning at its end, and later ones are as gradients became ready."""
        if any(id(w) not in places for bucket in parts for w, _ in bucket):
            places.clear()
            whole = [w for bucket in reversed(parts) for w, _ in bucket]
            places.update((id(w), (i, w)) for i, w in enumerate(whole))  # with w, whose id is then nobody else's
        return [g for w, g in sorted((pair for bucket in parts for pair in bucket), key=lambda pair: places[id(pair[0])][0])]

    def hook(state, bucket):
        future = torch.futures.Future()
        if alone:
            robust_all_reduce(bucket.buffer(), rule, group, **options)
            future.set_result(bucket.buffer())
            return future
        if bucket.index() == 0:
            waiting.clear()  # of a backward pass that was given up
        waiting.append((bucket.buffer(), future, list(zip(bucket.parameters(), bucket.gradients()))))
        if bucket.is_last():
            gradients = in_order([parts for _, _, parts in waiting])
            together = torch.cat([g.reshape(-1) for g in gradients])
            robust_all_reduce(together, rule, group, **options)
            for g, part in zip(gradients, together.split([g.numel() for g in gradients])):
                g.copy_(part.reshape(g.shape))
            for buffer, done, _ in waiting:
                done.set_result(buffer)
            waiting.clear()
        return future

    return hook
