"""Workers that go on when some of them die."""
import datetime
import json
import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.distributed as dist

from .. import _core
from .._aggregate import _rule
from .._arguments import real, whole
from ._reduce import WorkerLost, reduced, write
from ._settings import Number


class Crew:
    """Workers that go on when some of them die: a Gloo group that is made anew of those that are left.

    store is a torch.distributed store that outlives every worker: a FileStore, or a TCPStore in a process of its own. rank and
    size are those at the start. Whoever does not answer within `timeout` seconds is left out, so it must be longer than a worker
    takes between two calls. With fewer than `quorum` left there is a RuntimeError.

        crew = medgrad.torch.Crew(store, rank, size, timeout=30)
        crew.all_reduce(flat_gradient, "median")

    A worker may die when some of the others have the result already and some have not: the latter then get it from the former.
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: float = 30.0, quorum: int = 1) -> None:
        self.members: List[int] = list(range(whole("size", size, 1)))
        self.worker = whole("rank", rank, 0, size - 1)  # for good; rank changes
        self.timeout = real("timeout", timeout)
        self.quorum = whole("quorum", quorum)
        self.step = 0  # how many were done
        self._last: Optional[Tuple[Any, Dict[str, Any]]] = None  # the result of the step before, for those who may lack it
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
        """A group of those that are left. The result of this step, where another one has it and this one does not."""
        while True:
            self._meet()
            try:
                self._join()
                return self._caught_up()
            except RuntimeError:  # somebody is gone since: without them, then
                pass

    def _meet(self):
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

    def _there(self, key):
        return self._store.add(key, 0) > 0

    def _caught_up(self):
        """Nobody can be ahead by more than one step, for which it needed all the others."""
        steps = self._gathered(self.step)
        newest = max(steps)
        if min(steps) == newest:
            return None
        out, info = self._last if self.step == newest else (np.empty(0), {})
        words = json.dumps(info).encode()
        from_rank = steps.index(newest)
        sizes = self._sent(torch.tensor([out.nbytes, len(words), out.itemsize]), from_rank).tolist()
        payload = torch.zeros(sizes[0] + sizes[1], dtype=torch.uint8)
        if self.rank == from_rank:
            payload = torch.from_numpy(np.frombuffer(out.tobytes() + words, np.uint8).copy())
        got = self._sent(payload, from_rank).numpy().tobytes()
        if self.step == newest:
            return None
        return np.frombuffer(got[:sizes[0]], f"f{sizes[2]}").copy(), json.loads(got[sizes[0]:])

    def _gathered(self, number):
        mine, all_of_them = torch.tensor([number]), [torch.zeros(1, dtype=torch.int64) for _ in self.members]
        self._group.allgather([all_of_them], [mine]).wait()
        return [int(one) for one in all_of_them]

    def _sent(self, tensor, from_rank):
        options = dist.BroadcastOptions()
        options.rootRank, options.rootTensor = from_rank, 0
        self._group.broadcast([tensor], options).wait()
        return tensor

    def all_reduce(self, tensor: torch.Tensor, rule: str = "median", *, topology: str = "sharded", server: int = 0,
                   non_finite: str = "robust", center: Any = None, report: bool = False, **parameters: Number) -> Dict[str, Any]:
        """robust_all_reduce over those that are left; where some are lost it is done again without them. "members" of the result
        are those that the crew has after it."""
        return self._all_reduce(tensor, _rule(rule, parameters), topology, server, non_finite, center, report)

    def _all_reduce(self, tensor, rule, topology, server, non_finite, center, report):
        done = None
        while done is None:
            try:
                done = reduced(self._workers, tensor, rule, self.step, topology, server, non_finite, None, center, report)
            except WorkerLost:
                done = self._regroup()
        self._last = done
        self.step += 1
        write(tensor, done[0])
        return {**done[1], "members": list(self.members)}
