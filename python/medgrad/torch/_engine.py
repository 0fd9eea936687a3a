"""The machine behind the optimisers: which parameters form one vector, what is remembered for each, and a step.

Dense float and double tensors on the CPU go through the kernels of the core, all tensors of a unit in one call, with the
bits of the C++ optimisers. Everything else goes through tensor operations (_operations.py), which never wait for a device.
"""
import torch

from .. import _core
from . import _operations

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_LARGE = 1 << 20  # entries from which large pages pay
INFO = ("increment_norm", "effective_beta", "clipped_share", "non_finite", "tau", "size")


def is_dense(x):
    """Does it fill one piece of memory, in any order of its axes?"""
    if x.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(x.stride(), x.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def is_plain(x):
    return type(x) in _PLAIN and x.layout == torch.strided and x.device.type == "cpu" and is_dense(x)


def zeros_for(w):
    """Zeros of the shape and layout of w, in the type that m is kept in."""
    kind = torch.float64 if w.dtype == torch.float64 else torch.float32
    if not is_plain(w) or w.numel() < _LARGE:
        return torch.zeros_like(w, dtype=kind, requires_grad=False, memory_format=torch.preserve_format)
    zeros = torch.from_numpy(_core.zeros_in_large_pages(w.numel(), kind == torch.float64))
    return zeros.as_strided(w.size(), w.stride())


def taken_over(x, w):
    """A copy of what was kept of a parameter w by another: on its device, and in its layout, as the kernels need it."""
    x = x.detach().to(w.device, copy=True)
    if x.shape != w.shape or x.stride() == w.stride() or not is_plain(x) or not is_plain(w):
        return x
    return torch.empty_like(w, dtype=x.dtype, requires_grad=False, memory_format=torch.preserve_format).copy_(x)


class Slot:
    """A parameter in a step."""
    __slots__ = ("w", "state", "settings", "group", "index")

    def __init__(self, w, state, settings, group, index):
        self.w, self.state, self.settings, self.group, self.index = w, state, settings, group, index


class Unit:
    """The parameters that are one vector to the estimator."""

    def __init__(self, scope):
        self.scope = scope
        self.slots = []
        self.core = None
        self.kept = []  # so that no other tensor can come to lie where the weights were

    # The S of tau = auto: a number, or on devices a tensor without axes. `homes` has a dict for every group.
    def _home(self, homes):
        if self.scope == "tensor":
            return self.slots[0].state, "size"
        return (homes[0], "global_size") if self.scope == "global" else (homes[self.slots[0].group], "size")

    def size(self, homes):
        home, name = self._home(homes)
        return home.get(name, 0.0)

    def keep_size(self, homes, size):
        home, name = self._home(homes)
        home[name] = size

    def prepare(self, with_v):
        first = self.slots[0].w
        names = ("m", "v") if with_v else ("m",)
        for slot in self.slots:
            for name in names:
                if name not in slot.state:
                    slot.state[name] = zeros_for(slot.w)
                memory = slot.state[name]
                if not isinstance(memory, torch.Tensor) or not memory.is_floating_point():
                    raise TypeError(f"{name} of a parameter is not a tensor of real numbers; it must be one.")
                if memory.shape != slot.w.shape:
                    raise ValueError(f"a parameter of the shape {tuple(slot.w.shape)} has {name} of the shape "
                                     f"{tuple(memory.shape)}: one of them has changed its shape since the last step.")
        if first.dtype not in (torch.float32, torch.float64):
            return
        core = _core.Unit(torch.Tensor, first.dtype, first.dtype == torch.float64)
        for slot in self.slots:
            w, memory = slot.w, [slot.state[name] for name in names]
            if w.dtype != first.dtype or not is_plain(w) or any(
                    not is_plain(x) or x.dtype != w.dtype or x.stride() != w.stride() for x in memory):
                return
            core.add(w, None if w.is_contiguous() else w.stride(), memory[0].data_ptr(),
                     memory[1].data_ptr() if with_v else 0, slot.group)
            self.kept += [x.detach() for x in (w, *memory)]
        self.core = core

    def lay_out_gradients(self):
        """Gradients of another layout than their weights' are copied to theirs."""
        for slot in self.slots:
            g = slot.w.grad
            if type(g) is torch.Tensor and g.dtype == slot.w.dtype and g.layout == torch.strided \
                    and g.device == slot.w.device and g.stride() != slot.w.stride():
                slot.w.grad = torch.empty_like(slot.w, memory_format=torch.preserve_format).detach().copy_(g)


class Engine:
    def __init__(self):
        self.reports = []  # (what, what was seen, skipped)
        self.names = {}
        self._units = None
        self._shape = None
        self._kept = None
        self._without = []

    def name_of(self, slot):
        return self.names.get(id(slot.w), f"parameter {slot.index + 1} of group {slot.group + 1}")

    def what(self, unit):
        if unit.scope == "global":
            return "all"
        return self.name_of(unit.slots[0]) if unit.scope == "tensor" else f"group {unit.slots[0].group + 1}"

    # ---- Units ----

    def check(self, k, params):
        """Can the parameters of group k + 1 be tracked?"""
        for i, w in enumerate(params):
            if not w.is_floating_point():
                raise TypeError(f"{self.name_of(Slot(w, None, None, k, i))} has the type {w.dtype}; it must be of real numbers "
                                "(of complex ones: torch.view_as_real).")

    def _plan(self, groups, settings, state):
        units, together = [], None
        self._without = []
        for k, (group, setting) in enumerate(zip(groups, settings)):
            self.check(k, group["params"])
            mine = together if setting.scope == "global" else None
            for i, w in enumerate(group["params"]):
                if w.grad is None:
                    self._without.append(w)
                    continue
                slot = Slot(w, state[w], setting, k, i)
                if w.grad.layout != torch.strided:
                    raise ValueError(f"{self.name_of(slot)} has a sparse gradient, for which a median of all components "
                                     "makes no sense; make it dense (for an embedding: sparse=False).")
                if mine is None or setting.scope == "tensor":
                    mine = Unit(setting.scope)
                    units.append(mine)
                    if setting.scope == "global":
                        together = mine
                mine.slots.append(slot)
        for unit in units:
            unit.prepare(settings[unit.slots[0].group].adaptive is not None)
        return units

    def _check_together(self, settings):
        together = [setting for setting in settings if setting.scope == "global"]
        for other in together[1:]:
            if other.same_vector != together[0].same_vector:
                raise ValueError("groups of scope global form one vector and need the same method; give them one method, or "
                                 "scope group.")

    def units(self, groups, settings, state):
        """As they were in the last step, if nothing has changed; the gradients are located."""
        shape = [(setting.scope, setting.adaptive is None) for setting in settings]
        params = [group["params"] for group in groups]
        if len(settings) > 1:
            self._check_together(settings)
        if self._units is not None and shape == self._shape and self._kept.same(params, state) and \
                all(w.grad is None for w in self._without):
            if all(unit.core is not None and unit.core.locate() for unit in self._units):
                for unit in self._units:
                    for slot in unit.slots if len(settings) > 1 or unit.slots[0].settings is not settings[0] else ():
                        slot.settings = settings[slot.group]
                return self._units
        self._units = self._plan(groups, settings, state)
        self._shape = shape
        self._kept = _core.Kept(params, state)
        for unit in self._units:
            if unit.core is not None and not unit.core.locate():
                unit.lay_out_gradients()
                if not unit.core.locate():
                    unit.core = None
        return self._units

    def forget(self):
        """Other tensors are in the groups or in the state."""
        self._units = None

    # ---- Steps ----

    def step(self, groups, settings, state, keeps_w=False, homes=None):
        self.reports = []
        homes = groups if homes is None else homes
        try:
            units = self.units(groups, settings, state)
            if len(units) > 1:
                self._refuse_any(units)
            rates = [setting.rates for setting in settings] if any(unit.core for unit in units) else None
            for unit in units:
                self._step(unit, settings[unit.slots[0].group], rates, keeps_w, homes)
        finally:
            for unit in self._units or ():
                if unit.core is not None:
                    unit.core.forget()

    # With several units and an error asked for, all are looked at before any takes its step.
    def _refuse_any(self, units):
        for unit in units:
            for slot in unit.slots:
                if slot.settings.bad_gradient == "raise" and not torch.isfinite(slot.w.grad).all():
                    self._refuse(slot)

    def _refuse(self, slot):
        raise ValueError(f"the gradient of {self.name_of(slot)} or its weights have a component that is NaN or Inf; the step "
                         "was not taken.")

    def _step(self, unit, setting, rates, keeps_w, homes):
        robust, adaptive = setting.bad_gradient == "robust", setting.adaptive
        cuts = adaptive is not None and adaptive.cuts
        keeps_w = keeps_w or adaptive is not None
        skipped = False
        if unit.core is not None:
            threads = torch.get_num_threads()
            if cuts:
                info = unit.core.cut(adaptive, _counts(unit, 1), rates, robust, threads)
            else:
                size = float(unit.size(homes)) if setting.automatic else 0.0
                info = unit.core.step(setting.online, rates, setting.cold, robust, keeps_w, threads, size)
            if isinstance(info, int):
                if setting.bad_gradient == "raise":
                    self._refuse(_slot_at(unit, info))
                self.reports.append((self.what(unit), None, True))
                return
            _written([slot.w for slot in unit.slots])
        else:
            if setting.bad_gradient == "raise":
                for slot in unit.slots:
                    if not torch.isfinite(slot.w.grad).all():
                        self._refuse(slot)
            if cuts:
                info, skipped = _operations.cut(adaptive, unit.slots, robust)
            else:
                size = unit.size(homes) if setting.automatic else None
                info, skipped = _operations.step(setting.online.parts, unit.slots, setting.cold, robust, keeps_w, size)
        if setting.automatic:
            unit.keep_size(homes, info[5])
        self.reports.append((self.what(unit), info[:setting.told], skipped))
        if adaptive is None:
            return
        for slot in unit.slots:
            count = slot.state.get("step", 0)
            slot.state["step"] = count + 1 if skipped is False else count + _operations.wide(torch.logical_not(skipped))
        if cuts:
            return
        if unit.core is not None:
            unit.core.adapt(adaptive, _counts(unit, 0), rates, threads)
        else:
            _operations.adapt(adaptive, unit.slots, None if robust else skipped)

    def last_step(self):
        numbers = {}
        for what, info, skipped in self.reports:
            prefix = "" if what == "all" else what + "/"
            for name, value in zip(INFO, info if info is not None else ()):
                value = value.item() if isinstance(value, torch.Tensor) else value
                numbers[prefix + name] = value
            numbers[prefix + "skipped"] = int(skipped)
        return numbers


def _counts(unit, more):
    return [int(slot.state.get("step", 0)) + more for slot in unit.slots]


def _slot_at(unit, index):
    for slot in unit.slots:
        index -= slot.w.numel()
        if index < 0:
            return slot
    return unit.slots[-1]


# Autograd is told that the weights were written to, where it can be; a graph that needs the old ones then says so.
_increment = getattr(torch.autograd.graph, "increment_version", None)


def _written(tensors):
    if _increment is not None:
        _increment(tensors)
