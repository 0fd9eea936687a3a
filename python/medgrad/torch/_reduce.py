"""A rule over the tensors of some workers, who talk to each other through an engine: the step that every way to it shares."""
import numpy as np
import torch

from .. import _core
from .._aggregate import policy
from .._arguments import text, whole

WorkerLost = _core.WorkerLost


def check(tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor is {type(tensor).__name__}; it must be a tensor of torch.")
    if tensor.layout != torch.strided or not tensor.is_floating_point():
        raise TypeError(f"tensor is {tensor.dtype}, {tensor.layout}; it must be dense, of real numbers.")


def reduced(workers, tensor, rule, step, topology, server, non_finite, weights, center, report):
    """The result as an array, and how it was reached; a WorkerLost where somebody is gone."""
    check(tensor)
    kind = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    mine = tensor.detach().to("cpu", kind).contiguous().reshape(-1).numpy()
    out = np.empty_like(mine)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64).ravel()
    if center is not None:
        center = np.ascontiguousarray(torch.as_tensor(center).detach().to("cpu", kind).reshape(-1).numpy())
    info = workers.aggregate(rule, mine, out, text("topology", topology), whole("server", server, 0, 2**31 - 1), step, weights,
                             center, policy(non_finite), torch.get_num_threads(), report)
    return out, {**info, "step": step}


def write(tensor, out):
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(out).reshape(tensor.shape))
