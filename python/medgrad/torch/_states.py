"""States that are loaded: what a saved state must be, told before anything of it is taken."""
import torch


def refuse(what):
    raise ValueError(f"{what}; it must be what state_dict() gave.")


def check_parts(state, parts, what):
    """A dict with these entries, each of its type."""
    if not isinstance(state, dict):
        refuse(f"{what} is {type(state).__name__}")
    for name, kind in parts.items():
        if name not in state:
            refuse(f"{what} has no {name!r}")
        if not isinstance(state[name], kind):
            refuse(f"{name!r} of {what} is {type(state[name]).__name__}")


def check_numbers(state, names, what):
    """Those of these entries that are there are numbers, which tensors of one may be."""
    for name in names:
        x = state.get(name, 0)
        if isinstance(x, bool) or not isinstance(x, (int, float)) and not (isinstance(x, torch.Tensor) and x.numel() == 1):
            refuse(f"{name!r} of {what} is no number")


def check_memory(state, names, w, what):
    """What is kept of a parameter w: tensors of these names."""
    check_parts(state, {name: torch.Tensor for name in names}, what)
    check_numbers(state, ("step", "size"), what)
    for name in names:
        if not state[name].is_floating_point():
            refuse(f"{name!r} of {what} has the type {state[name].dtype}")
        if state[name].shape != w.shape:
            raise ValueError(f"the state is of a parameter of shape {tuple(state[name].shape)}, the optimiser has one of shape "
                             f"{tuple(w.shape)} in its place.")
