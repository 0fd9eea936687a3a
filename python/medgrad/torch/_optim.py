"""The paper's optimisers, as torch.optim's own."""
from typing import Any, Callable, Dict, Optional, Union

import torch

from .. import _core
from .._arguments import real, text
from ._engine import Engine, taken_over
from ._settings import COMMON, PARAMETERS, Number, Params, Settings, online_of
from ._states import check_memory, check_numbers, check_parts, refuse


_KEPT = ("params", "param_names", "skipped", "size", "global_size")  # what is in a group beside its options
# Options of torch's own optimisers that nobody puts into a group for another purpose.
_TORCHS = ("momentum", "dampening", "nesterov", "betas", "amsgrad")


class TrackingOptimizer(torch.optim.Optimizer):
    """What they all do. One idea: the estimator decides m, w <- w - lr m follows."""

    def __init__(self, params: Params, defaults: Dict[str, Any]) -> None:
        self._engine = Engine()
        self._settings = []
        super().__init__(params, {**COMMON, **defaults})

    # ---- Options ----

    def _methods(self, group):
        """The online estimator, and Adam's step along it or None."""
        raise NotImplementedError

    _OWN = ("params", "lr", *COMMON)  # names of options
    _TAKES = PARAMETERS  # of methods

    def _check_names(self, group):
        """What schedulers and users keep in a group beside the options is theirs, but not what was likely meant as an option."""
        mine, foreign = {*self._OWN, *self._TAKES, *_KEPT}, {*MedianAdam._OWN, *PARAMETERS, *_TORCHS}
        for name in group:
            if not isinstance(name, str) or name in mine:
                continue
            given = name in self.defaults  # to the constructor: the registry says what is wrong with those
            near = _core.suggestion(name, [*self._OWN, *(() if given else sorted(self._TAKES))])
            if near:
                raise ValueError(f"{name} is not an option of {type(self).__name__}.{near}")
            if name in foreign and not given:
                raise ValueError(f"{name} is not an option of {type(self).__name__}, and a group of parameters has it; leave it out.")

    def _parameters(self, group):
        return {name: value for name, value in group.items() if name not in self._OWN and value is not None and
                (name in self.defaults or name in PARAMETERS)}

    def _settings_of(self, k, group):
        key = tuple(value for name, value in group.items() if name not in _KEPT)
        if isinstance(group["lr"], torch.Tensor):  # its value may be another one by now
            key += (object(),)
        if k < len(self._settings) and self._settings[k].key == key:
            return self._settings[k]
        self._check_names(group)
        return Settings(key, group, *self._methods(group))

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        self._engine.names.update((id(w), name) for w, name in zip(group["params"], group.get("param_names") or ()))
        try:  # wrong values are told at once
            self._settings_of(len(self._settings) + 1, group)
            self._engine.check(len(self.param_groups) - 1, group["params"])
        except Exception:
            self.param_groups.pop()
            raise
        self._engine.forget()

    # ---- Steps ----

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """One step. A closure, where given, is called with gradients enabled and its loss returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._settings = [self._settings_of(k, group) for k, group in enumerate(self.param_groups)]
        self._engine.step(self.param_groups, self._settings, self.state)
        for _, _, skipped in self._engine.reports:
            if skipped is not False:
                self.param_groups[0]["skipped"] = self.param_groups[0].get("skipped", 0) + skipped
        return loss

    def last_step(self) -> Dict[str, float]:
        """What the last step saw, as a flat dict of numbers for whatever logs them:

            increment_norm   |g - m| before the step
            effective_beta   1 - |m_new - m| / |g - m|: the momentum coefficient of this step
            clipped_share    the share of the components whose increment was cut
            non_finite       components of g that were NaN or Inf
            tau              where the method has one
            size             where tau is "auto": the S that it was taken from
            skipped          1 where the step was left out because of them

        With scopes other than global, names begin with the group or the parameter: "group 1/increment_norm". Values
        on a device are fetched here, and not before.
        """
        return self._engine.last_step()

    @property
    def skipped(self) -> int:
        """How many steps of scopes were left out because a gradient was not finite."""
        return int(self.param_groups[0].get("skipped", 0))

    def estimate(self, parameter: torch.Tensor) -> Optional[torch.Tensor]:
        """m of a parameter: the tracked estimate of its gradient. None before its first step."""
        return self.state[parameter].get("m") if parameter in self.state else None

    def name_parameters(self, module: torch.nn.Module) -> None:
        """Takes the names of the module's parameters for reports and errors, which otherwise say "parameter 3 of group 1"."""
        self._engine.names.update((id(w), name) for name, w in module.named_parameters())

    # ---- Saving ----

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Goes on bit for bit where the optimiser that was saved stopped, with its options. A state of another optimiser, method or
        model is a ValueError and changes nothing."""
        memory = self._checked(state_dict)
        super().load_state_dict(state_dict)
        # torch would bring m to the type of the weights; of half precision, it is kept in float. And it is ours alone.
        for w, state in memory.items():
            for name in ("m", "v", "size"):
                if isinstance(state.get(name), torch.Tensor):
                    self.state[w][name] = taken_over(state[name], w)
        self._engine.forget()

    def _checked(self, state_dict):
        """What a state has of every parameter."""
        check_parts(state_dict, {"state": dict, "param_groups": list}, "the state")
        for k, group in enumerate(state_dict["param_groups"]):
            check_parts(group, {"params": list}, f"group {k + 1} of the state")
            check_numbers(group, ("skipped", "size", "global_size"), f"group {k + 1} of the state")
        names = []  # of what is kept of every parameter
        for k, (mine, other) in enumerate(zip(self.param_groups, state_dict["param_groups"])):
            lacking = [name for name in self.defaults if name not in other]
            if lacking:
                raise ValueError(f"group {k + 1} of the state has no {lacking[0]}: it is of another optimiser than "
                                 f"{type(self).__name__}.")
            now, saved = (self._settings_of(len(self._settings) + 1, group) for group in (mine, other))
            if now.line != saved.line:
                raise ValueError(f"group {k + 1} of the state is of the method '{saved.line}', the optimiser has '{now.line}'.")
            names += [("m",) if now.adaptive is None else ("m", "v")] * len(mine["params"])
        numbers = [number for group in state_dict["param_groups"] for number in group["params"]]
        places = dict(zip(numbers, zip((w for group in self.param_groups for w in group["params"]), names)))
        memory = {}
        for number, state in state_dict["state"].items():
            if number in places:
                w, kept = places[number]
                begun = not isinstance(state, dict) or any(name in state for name in kept)  # before its first step it is empty
                check_memory(state, kept if begun else (), w, f"parameter {number} of the state")
                memory[w] = state
            elif isinstance(number, int) and number not in numbers:
                refuse(f"the state has a parameter {number}, and its groups have not")
        return memory

    def __getstate__(self):
        return {**super().__getstate__(), "_settings": [], "_engine": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        if self.__dict__.get("_engine") is None:
            self._engine = Engine()
        self._engine.forget()
        self._settings = []


class MedianSGD(TrackingOptimizer):
    """m <- online estimator(g), w <- w - lr m.

    method is the name of an online estimator, as in medgrad.Estimator: "vclip" (default; m tracks the geometric median of
    the gradients, m <- m + min(1, tau/|g - m|) (g - m)), "cclip" (the componentwise median), "momentum" (their mean, damped:
    m <- beta m + (1 - beta) g with beta = 1/(1 + tau)), "huber", "lp", "sign", ...; medgrad.methods()["online"] lists them.
    Parameters are given by name: tau=0.1, mu=1.3. Those left out are the registry's. tau="auto" ("vclip", "cclip", "huber")
    needs no scale: tau = theta S, where S follows the quantile `level` of the sizes of the increments (of their components,
    for "cclip") at the rate `rate`; theta=0.1, level=0.2, rate=0.1.

    start="cold" takes m as 0 before every step: "vclip" becomes gradient clipping, "sign" sign-SGD.
    weight_decay is part of the gradient, g + weight_decay w; with decoupled=True it acts on w directly, as in AdamW.
    maximize=True ascends; m still estimates the gradient.
    scope says what the estimator treats as one vector: "global" (all parameters of all groups), "group" or "tensor".
    bad_gradient: "robust" (a NaN leaves its component of m as it was, an infinity is clipped like any large value), "skip"
    (the step of its scope is left out and counted) or "raise" (a ValueError that names the parameter). m and w stay finite.

    Dense float and double tensors on the CPU go through the kernels of the core, with the bits of the C++ optimiser.
    Everything else goes through tensor operations, which never wait for a device unless bad_gradient="raise" makes them.

    >>> import torch, medgrad.torch
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = medgrad.torch.MedianSGD(net.parameters(), lr=0.1, method="vclip", tau=0.5)
    >>> net(torch.ones(5, 3)).square().mean().backward()
    >>> optimizer.step()
    >>> sorted(optimizer.last_step())
    ['clipped_share', 'effective_beta', 'increment_norm', 'non_finite', 'skipped', 'tau']
    """

    def __init__(self, params: Params, lr: Union[float, torch.Tensor], method: str = "vclip", tau: Optional[Number] = None, *,
                 start: str = "warm", weight_decay: float = 0.0, decoupled: bool = False, maximize: bool = False,
                 scope: str = "global", bad_gradient: str = "robust", **parameters: Number) -> None:
        super().__init__(params, {"lr": lr, "method": method, "tau": tau, "start": start, "weight_decay": weight_decay,
                                  "decoupled": decoupled, "maximize": maximize, "scope": scope,
                                  "bad_gradient": bad_gradient, **parameters})

    _OWN = ("params", "lr", "method", "start", *COMMON)

    def _methods(self, group):
        return online_of(group["method"], self._parameters(group)), None


class ClippedSGD(TrackingOptimizer):
    """m <- beta m + (1 - beta) min(1, clip/|g|) g, w <- w - lr m: momentum over clipped gradients (paper, eqn. clipped-sgdm).

    The other options are those of MedianSGD.
    """

    def __init__(self, params: Params, lr: Union[float, torch.Tensor], beta: float = 0.9, clip: float = 1.0, *,
                 weight_decay: float = 0.0, decoupled: bool = False, maximize: bool = False, scope: str = "global",
                 bad_gradient: str = "robust") -> None:
        super().__init__(params, {"lr": lr, "beta": beta, "clip": clip, "weight_decay": weight_decay, "decoupled": decoupled,
                                  "maximize": maximize, "scope": scope, "bad_gradient": bad_gradient})

    _OWN = ("params", "lr", "beta", "clip", *COMMON)
    _TAKES = ()

    def _methods(self, group):
        return online_of("clipped-mean", {"beta": group["beta"], "clip": group["clip"]}), None


class MedianAdam(TrackingOptimizer):
    """Adam that withstands outliers, in one of two ways (ours, not the paper's):

        m <- m + (1 - beta1) clamp(g - m, -b, b),   b = cut sqrt(v / (1 - beta2^(t-1))),
        v <- beta2 v + (1 - beta2) h^2,             h = m + clamp(g - m, -b, b) with the m before,
        w <- w - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).

    That is method="median-adam", the default: increments are cut in Adam's own metric, at cut = 3 roots of v, so that there is
    no scale to tune. cut=inf is Adam (method="adam"), and with decoupled=True AdamW; beta1 is 0.9 where it is left out.

    With method="cclip-adam" or the name of any online estimator, that is the first moment instead, v <- beta2 v +
    (1 - beta2) g^2, and nothing is cut. "cclip-adam" is "cclip" with tau = 0.1. beta1 is then 1/(1 + tau) for "momentum"
    where it is left out, and 0 for the others, which have no bias to correct.
    The other options are those of MedianSGD.
    """

    def __init__(self, params: Params, lr: Union[float, torch.Tensor] = 1e-3, method: str = "median-adam",
                 tau: Optional[Number] = None, *, cut: Optional[float] = None, beta1: Optional[float] = None,
                 beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0, decoupled: bool = False,
                 maximize: bool = False, scope: str = "global", bad_gradient: str = "robust", **parameters: Number) -> None:
        super().__init__(params, {"lr": lr, "method": method, "tau": tau, "cut": cut, "beta1": beta1, "beta2": beta2,
                                  "eps": eps, "weight_decay": weight_decay, "decoupled": decoupled, "maximize": maximize,
                                  "scope": scope, "bad_gradient": bad_gradient, **parameters})

    _OWN = (*MedianSGD._OWN, "cut", "beta1", "beta2", "eps")

    def _methods(self, group):
        method, beta1, parameters = group["method"], group["beta1"], self._parameters(group)
        name, told = _core.named(text("method", method), {})
        if name in _ADAMS:  # the registry has it whole
            given = {"beta1": beta1, "beta2": group["beta2"], "epsilon": group["eps"], "cut": group["cut"], **parameters}
            given = {key: value for key, value in given.items() if value is not None and not
                     (key in told and value == _DEFAULTS.get(key))}  # the text goes before what was not given
            made = _core.AdaptiveGradient(method, given)
            return made.first, made
        if group["cut"] is not None:
            raise ValueError(f"cut is {group['cut']!r}, and nothing is cut with the method {name!r}; leave it out, or leave out "
                             "the method.")
        online = online_of(method, parameters)
        parts = online.parts
        if beta1 is None:
            squared = parts.get("distance") == "squared"
            beta1 = 0.0 if not squared else 1 / (1 + parts["tau"]) if parts["step"] == "prox" else max(0.0, 1 - parts["tau"])
        return online, _core.AdaptiveGradient(online, real("beta1", beta1), real("beta2", group["beta2"]),
                                              real("eps", group["eps"]))


_ADAMS = ("median-adam", "adam", "cclip-adam")
_DEFAULTS = {"beta2": 0.999, "epsilon": 1e-8}
