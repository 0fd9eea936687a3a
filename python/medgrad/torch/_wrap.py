"""A median filter in front of any optimiser."""
import collections.abc
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

import torch

from .. import _core
from .._arguments import text
from ._engine import Engine, taken_over
from ._optim import MedianSGD
from ._settings import COMMON, Number, Settings, online_of
from ._states import check_memory, check_numbers, check_parts, refuse


class FilteredOptimizer(torch.optim.Optimizer):
    """What wrap() returns: the optimiser, which gets m <- online estimator(g) for a gradient.

    Everything an optimiser has goes to the inner one: groups, schedulers, zero_grad, defaults. state_dict() is that of the
    inner one with the filter's under "filter".
    """

    def __init__(self, optimizer, options, exclude):
        # Not Optimizer.__init__, which would make groups of its own.
        self.__dict__["optimizer"] = optimizer
        self._options = options
        self._exclude = exclude
        self._engine = Engine()
        self._memory = {}  # the state of every parameter
        self._sizes = []  # of tau = auto, a dict for every group
        self._filtered = None
        self._settings = None
        self._settings_now()
        self._groups()

    def __getattr__(self, name: str) -> Any:
        if name == "optimizer":  # while it is being unpickled
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    @property  # type: ignore[override]
    def param_groups(self) -> List[Dict[str, Any]]:
        return self.optimizer.param_groups

    @property  # type: ignore[override]
    def state(self) -> Dict[torch.Tensor, Any]:
        return self.optimizer.state

    @property  # type: ignore[override]
    def defaults(self) -> Dict[str, Any]:
        return self.optimizer.defaults

    @property
    def tau(self) -> float:
        """tau of the filter, or theta where its tau is "auto"; may be set, by a schedule for instance."""
        return self._settings_now().online.tau

    @tau.setter
    def tau(self, value: Number) -> None:
        before = self._options
        self._options = {**before, "theta" if self._settings_now().automatic else "tau": value}
        try:
            self._settings_now()
        except Exception:
            self._options = before
            raise

    def _settings_now(self):
        key = tuple(self._options.items())
        if self._settings is None or self._settings.key != key:
            self._settings = _settings_of(key, self._options)
        return self._settings

    def _groups(self):
        """Those that are filtered, by group; the same lists for as long as the groups have the same parameters."""
        params = [group["params"] for group in self.param_groups]
        if self._filtered is None or not self._filtered[0].same(params, {}):
            self._filtered = _core.Kept(params, {}), [{"params": [w for w in group if not self._exclude(w)]} for group in params]
            for k, group in enumerate(self._filtered[1]):
                self._engine.check(k, group["params"])
        return self._filtered[1]

    @torch.no_grad()
    def _filter(self):
        groups = self._groups()
        for group in groups:
            for w in group["params"]:
                self._memory.setdefault(w, {})
        self._sizes += [{} for _ in range(len(groups) - len(self._sizes))]
        self._engine.step(groups, [self._settings_now()] * len(groups), self._memory, keeps_w=True, homes=self._sizes)
        pairs = [(w.grad, self._memory[w]["m"]) for group in groups for w in group["params"] if w.grad is not None]
        for g, m in pairs:
            g.copy_(m)

    def step(self, closure: Optional[Callable[[], Any]] = None, *args: Any, **kwargs: Any) -> Any:
        """Replaces the gradients by their filtered ones, as clip_grad_norm_ replaces them, and lets the inner optimiser step.
        With a closure, what it leaves in the gradients is filtered whenever the optimiser calls it."""
        if closure is None:
            self._filter()
            return self.optimizer.step(*args, **kwargs)

        def filtered():
            loss = closure()
            self._filter()
            return loss

        return self.optimizer.step(filtered, *args, **kwargs)

    def last_step(self) -> Dict[str, float]:
        """What the filter saw in the last step: see MedianSGD.last_step."""
        return self._engine.last_step()

    def estimate(self, parameter: torch.Tensor) -> Optional[torch.Tensor]:
        """m of a parameter; None before its first step, and for those that are excluded."""
        return self._memory.get(parameter, {}).get("m")

    def name_parameters(self, module: torch.nn.Module) -> None:
        """Takes the names of the module's parameters for reports and errors."""
        self._engine.names.update((id(w), name) for name, w in module.named_parameters())

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        self.optimizer.zero_grad(*args, **kwargs)

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        self.optimizer.add_param_group(param_group)
        self._engine.forget()

    # ---- Saving ----

    def _places(self):
        return [w for group in self.param_groups for w in group["params"]]

    def state_dict(self) -> Dict[str, Any]:
        memory = {i: dict(self._memory[w]) for i, w in enumerate(self._places()) if self._memory.get(w)}
        return {**self.optimizer.state_dict(), "filter": {"state": memory, "options": dict(self._options),
                                                          "sizes": [dict(sizes) for sizes in self._sizes],
                                                          "line": self._settings_now().line}}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Goes on bit for bit where the filter that was saved stopped. A state of another method or model, or what is no state, is a
        ValueError and changes nothing."""
        saved = state_dict.get("filter") if isinstance(state_dict, dict) else None
        if saved is None:
            raise ValueError("the state has no filter: it is of an optimiser that was not wrapped.")
        check_parts(state_dict, {"state": dict, "param_groups": list}, "the state")
        check_parts(saved, {"state": dict, "options": dict, "line": str}, "the filter of the state")
        try:
            line = _settings_of(None, saved["options"]).line
        except (KeyError, TypeError):
            refuse("the options of the filter of the state are those of no method")
        if not saved["line"] == line == self._settings_now().line:
            raise ValueError(f"the state is of the method '{saved['line']}', the filter has '{self._settings_now().line}'.")
        sizes = saved.get("sizes", [])
        for k, one in enumerate(sizes if isinstance(sizes, list) else [sizes]):
            check_parts(one, {}, f"group {k + 1} of the filter of the state")
            check_numbers(one, ("size", "global_size"), f"group {k + 1} of the filter of the state")
        places = self._places()
        for i, state in saved["state"].items():
            if type(i) is not int or not 0 <= i < len(places):
                raise ValueError(f"the state is of another model: its filter has a parameter {i!r}, and the optimiser has {len(places)}.")
            check_memory(state, ("m",), places[i], f"parameter {i} of the filter of the state")
        self.optimizer.load_state_dict({name: value for name, value in state_dict.items() if name != "filter"})
        self._filtered = None
        places = self._places()
        self._options = dict(saved["options"])
        self._sizes = [dict(one) for one in sizes]
        self._memory = {places[i]: {name: taken_over(x, places[i]) if isinstance(x, torch.Tensor) else x
                                    for name, x in state.items()} for i, state in saved["state"].items()}
        self._engine.forget()

    def __getstate__(self):
        return {name: self.__dict__[name] for name in ("optimizer", "_options", "_exclude", "_memory", "_sizes")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._engine = Engine()
        self._filtered = self._settings = None

    def __repr__(self):
        return f"wrap({self.optimizer!r}, {self._settings_now().line!r})"


def _settings_of(key, options):
    parameters = {name: value for name, value in options.items() if name not in MedianSGD._OWN}
    return Settings(key, {**COMMON, "lr": 0.0, **options}, online_of(options["method"], parameters))


def wrap(optimizer: torch.optim.Optimizer, method: str = "vclip", tau: Optional[Number] = None, *,
         exclude: Union[None, torch.Tensor, Iterable[torch.Tensor], torch.nn.Module, Callable[[torch.Tensor], bool]] = None,
         start: str = "warm", scope: str = "global", bad_gradient: str = "robust", **parameters: Number) -> FilteredOptimizer:
    """Puts a median filter in front of any optimiser: it gets m <- online estimator(g) in place of the gradient g.

    method, tau, start, scope, bad_gradient and parameters are those of MedianSGD; lr, weight_decay and the like are the inner
    optimiser's. exclude: parameters that keep their gradients: one, an iterable of them, a module, or a function that says
    whether a parameter is one of them.

    >>> import torch, medgrad.torch
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = medgrad.torch.wrap(torch.optim.AdamW(net.parameters()), "vclip", tau=0.1, exclude=[net.bias])
    >>> net(torch.ones(5, 3)).sum().backward()
    >>> optimizer.step()
    >>> round(optimizer.last_step()["increment_norm"], 4)   # |(5, 5, 5)|
    8.6603
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer is {type(optimizer).__name__}; it must be an optimiser of torch.")
    if bad_gradient == "skip":
        raise ValueError("bad_gradient is 'skip'; a filter cannot leave out the step of another optimiser: it must be 'robust' "
                         "or 'raise'.")
    for name in parameters:
        if name in MedianSGD._OWN:
            raise TypeError(f"wrap takes no {name}, which is the inner optimiser's; give it to {type(optimizer).__name__}.")
    name, parameters = _core.named(text("method", method), {"tau": tau, **parameters})
    options = {"method": name, "tau": None, "start": start, "scope": scope, "bad_gradient": bad_gradient, **parameters}
    return FilteredOptimizer(optimizer, options, _excluded(exclude, optimizer))


def _excluded(exclude, optimizer):
    """A function that says whether a parameter is excluded."""
    if isinstance(exclude, torch.nn.Module):
        exclude = exclude.parameters()
    elif callable(exclude):
        return exclude
    elif exclude is None or isinstance(exclude, torch.Tensor):
        exclude = [] if exclude is None else [exclude]
    elif isinstance(exclude, str) or not isinstance(exclude, collections.abc.Iterable):
        raise TypeError(f"exclude is {exclude!r}; it must be parameters, a module, or a function of a parameter.")
    tensors = list(exclude)
    known = {id(w) for group in optimizer.param_groups for w in group["params"]}
    for i, w in enumerate(tensors):
        if not isinstance(w, torch.Tensor):
            raise TypeError(f"entry {i + 1} of exclude is {w!r}; it must be a parameter.")
        if id(w) not in known:
            raise ValueError(f"entry {i + 1} of exclude, of the shape {tuple(w.shape)}, is no parameter of the optimiser; it must "
                             "be one.")
    return _Among(tensors)


class _Among:
    """Is a parameter one of these? It can be pickled and copied with them."""

    def __init__(self, tensors):
        self.tensors = tensors

    def __call__(self, w):
        return any(w is other for other in self.tensors)
