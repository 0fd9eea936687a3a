"""How noisy are the gradients of a model? Measured at fixed weights."""
import contextlib
import dataclasses
from typing import Any, Callable, Dict, Iterable, Optional

import numpy as np
import torch

from .. import _core

_ENTRIES = 1 << 22  # that the tails of components rest on


@dataclasses.dataclass
class GradientNoise:
    """gradient_norm   |gbar|, gbar the mean of the batches' gradients g_k
    errors          |g_k - gbar|, in the order of the batches
    components      tails of single components around their medians, each divided by its scale, as medgrad.tail_index gives
                    them; or a sentence that says why there are none (fewer than 20 batches)
    norms           Hill's estimate for the errors themselves, None below 20 batches
    """
    gradient_norm: float
    errors: np.ndarray
    components: Any
    norms: Optional[Dict[str, Any]]

    @property
    def verdict(self) -> str:
        """One sentence or two: how large the noise is beside the gradient, and what kind it is."""
        tails = self.components if isinstance(self.components, str) else self.components["verdict"]
        return (f"A batch's gradient is off by {_brief(np.median(self.errors))} (median), where the full gradient has norm "
                f"{_brief(self.gradient_norm)}. Components: {tails}")


def _brief(x):
    return f"{round(float(x), 4)!r}".removesuffix(".0")


def probe(model: torch.nn.Module, loss: Callable[[torch.nn.Module, Any], torch.Tensor], batches: Iterable[Any],
          ) -> GradientNoise:
    """The noise of the gradients of loss(model, batch) over the batches, at the weights that the model has:

        gbar = (1/K) sum_k g_k,   errors |g_k - gbar|,   and the index alpha of their tails.

    The batches are gone through twice (a list, or a data loader without shuffling), as holding all gradients would take K times
    the model. A model with dropout draws anew each time, and that noise is part of the errors. Gradients of the model are
    overwritten and left None; its buffers, such as the means of BatchNorm, stay as they were. A ValueError for fewer than two
    batches, and where a gradient is not finite.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is {type(model).__name__}; it must be a torch.nn.Module.")
    if not callable(loss):
        raise TypeError(f"loss is {loss!r}; it must be a function of the model and a batch.")
    parameters = [w for w in model.parameters() if w.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters that require gradients.")

    def gradients():
        for k, batch in enumerate(batches):
            for w in parameters:
                w.grad = None
            with torch.enable_grad():
                value = loss(model, batch)
                if not isinstance(value, torch.Tensor) or value.numel() != 1 or not value.requires_grad:
                    shown = f"a tensor of {value.numel()} numbers" if isinstance(value, torch.Tensor) and value.numel() != 1 else \
                        "a tensor without gradients" if isinstance(value, torch.Tensor) else type(value).__name__
                    raise TypeError(f"loss gave {shown}; it must be a tensor of one number, computed by the model.")
                value.backward()
            g = torch.cat([torch.zeros(w.numel(), dtype=torch.float64) if w.grad is None else
                           (w.grad.to_dense() if w.grad.is_sparse else w.grad).detach().to("cpu", torch.float64).reshape(-1)
                           for w in parameters]).numpy()
            for w in parameters:
                w.grad = None
            if not np.isfinite(g).all():
                raise ValueError(f"the gradient of batch {k + 1} has a component that is NaN or Inf.")
            yield g

    total, count = np.zeros(sum(w.numel() for w in parameters)), 0
    with _same_buffers(model):
        for g in gradients():
            total, count = total + g, count + 1
    if count < 2:
        raise ValueError("the noise of gradients needs at least two batches.")
    mean = total / count
    stride = max(1, mean.size // max(_ENTRIES // count, 1))
    distances, rows = [], []
    with _same_buffers(model):
        for g in gradients():
            distances.append(np.linalg.norm(g - mean))
            rows.append(g[::stride].copy())
    if len(distances) != count:
        raise ValueError(f"there were {count} batches at first, {len(distances)} the second time; give a list, or something else "
                         "that can be gone through twice.")
    errors = np.array(distances)
    return GradientNoise(float(np.linalg.norm(mean)), errors, _or_sentence(_core.tail_summary_rows, np.stack(rows)),
                         _or_none(_core.hill_of_right_tail, errors))


@contextlib.contextmanager
def _same_buffers(model):
    """A forward pass may write to the buffers of a model, or put others in their places; afterwards they are as they were."""
    kept = [(module._buffers, name, x, x.detach().clone()) for module in model.modules()
            for name, x in module._buffers.items() if x is not None]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffers, name, x, value in kept:
                buffers[name] = x.copy_(value)


def _or_sentence(function, x):
    try:
        return function(x)
    except ValueError as told:  # too few batches, or no noise
        return str(told)


def _or_none(function, x):
    try:
        return function(x)
    except ValueError:  # too few, or all alike
        return None
