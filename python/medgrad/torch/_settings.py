"""The options of a parameter group, checked: the names, ranges and sentences of the registry."""
from typing import Any, Dict, Iterable, Union

import torch

from .. import _core
from .._arguments import flag, one_of, real, text

Params = Union[Iterable[torch.Tensor], Iterable[Dict[str, Any]]]
Number = Union[float, str]  # of a method's parameter: "auto" and "inf" too

SCOPES = ("global", "group", "tensor")
BAD_GRADIENTS = ("robust", "skip", "raise")
STARTS = ("warm", "cold")
# What every group has, with its default.
COMMON = {"weight_decay": 0.0, "decoupled": False, "maximize": False, "scope": "global", "bad_gradient": "robust"}
# Parameters of online methods, as keyword arguments are spelt.
PARAMETERS = {parameter["name"].replace("-", "_") for method in _core.methods()["online"]
              for parameter in method["parameters"]}


def rate(group):
    """The learning rate; a tensor on a device stays there."""
    lr = group["lr"]
    if isinstance(lr, str):  # schedulers reckon with it
        raise TypeError(f"lr is {lr!r}; it must be a number.")
    return lr if isinstance(lr, torch.Tensor) and lr.device.type != "cpu" else real("lr", lr)


class Settings:
    """What the options of a group amount to. `key` tells whether they are still the same."""

    def __init__(self, key, group, online, adaptive=None):
        one_of("scope", group["scope"], SCOPES, repr)
        one_of("bad_gradient", group["bad_gradient"], BAD_GRADIENTS, repr)
        one_of("start", group.get("start", "warm"), STARTS, repr)
        lr, decay = rate(group), real("weight_decay", group["weight_decay"])
        for name, value in (("lr", lr), ("weight_decay", decay)):
            if not isinstance(value, torch.Tensor) and not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value:g}; it must satisfy 0 <= {name} < inf.")
        self.key = key
        self.scope = group["scope"]
        self.bad_gradient = group["bad_gradient"]
        self.cold = group.get("start", "warm") == "cold"
        self.online = online
        self.automatic = "theta" in online.parts
        self.adaptive = adaptive  # Adam's step along m, or None
        sign, decoupled = -1.0 if flag("maximize", group["maximize"]) else 1.0, flag("decoupled", group["decoupled"])
        self.eta = sign * lr
        self.shrink = 1 - lr * decay if decoupled else 1.0
        self.decay = 0.0 if decoupled else sign * decay

    @property
    def rates(self):
        return (float(self.eta), float(self.shrink), self.decay)

    @property
    def line(self):
        """Everything about the method but tau: states of equal lines are interchangeable."""
        line = self.online.line + (" cold" if self.cold else " warm")
        if self.adaptive is not None:
            line += f" beta1={self.adaptive.beta1!r} beta2={self.adaptive.beta2!r} eps={self.adaptive.epsilon!r}"
            line += f" cut={self.adaptive.cut!r}" if self.adaptive.cuts else ""
        return line

    @property
    def told(self):
        """How many of the numbers of a step (INFO of _engine.py) mean something: tau where there is one, S where it is auto."""
        if self.adaptive is not None and self.adaptive.cuts:
            return 4
        return 6 if self.automatic else 5 if "tau" in self.online.parts else 4

    @property
    def same_vector(self):
        return (self.line, self.online.tau)


def online_of(method, parameters):
    """The method of a text and keyword arguments; those that are None are left to the registry."""
    return _core.OnlineMethod(text("method", method), {name: value for name, value in parameters.items() if value is not None})
