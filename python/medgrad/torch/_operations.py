"""A unit's step by tensor operations: for other types, layouts and devices.

The formulas are those of the core (src/core/step.cc). Nothing here asks a tensor for its value, so nothing waits for a
device: what depends on norms is a tensor of no axis, and decisions are torch.where. Norms are accumulated in double, where
the device has it: float sums lose three digits on millions of components. The one exception is the lp distance with p other
than 1 and 2, whose projection is computed by the core on the CPU.
"""
import math

import numpy as np
import torch

from .. import _core

# Squares of doubles beyond these overflow or vanish; the scales bring them to where they do not.
_BIG, _SMALL, _SHRINK, _GROW = 2.0**486, 2.0**-511, 2.0**-538, 2.0**537


class _Piece:
    """One tensor of the unit: what goes in as g (finite), m before (0 where cold), the increment."""
    __slots__ = ("slot", "g", "before", "increment", "missing", "bad")

    def __init__(self, slot, cold):
        m, settings = slot.state["m"], slot.settings
        g = slot.w.grad.to(m.dtype)
        if settings.decay != 0:
            g = g + slot.w.to(m.dtype) * settings.decay
        most = torch.finfo(m.dtype).max
        self.slot = slot
        self.bad = torch.logical_not(torch.isfinite(g)).sum()
        self.missing = torch.isnan(g)
        self.before = torch.zeros_like(m) if cold else m
        self.g = torch.where(self.missing, self.before, torch.nan_to_num(g, 0.0, most, -most))
        self.increment = (self.g - self.before).clamp(-most, most)


def wide(x):
    """In double, where the device has it."""
    return x.float() if x.device.type == "mps" else x.double()


def _norm(pieces, of, scaled=None):
    """|x|_2 as (value, scale), the norm being value / scale; tensors of no axis. x is of(piece); scaled(x, s, piece) is
    x s, for where x itself overflows."""
    device = pieces[0].g.device
    scale = 1.0
    if any(piece.g.dtype == torch.float64 for piece in pieces):  # squares of floats fit into doubles
        largest = [of(piece).abs().amax().to(device) for piece in pieces if piece.g.numel() > 0]
        if largest:
            largest = torch.stack(largest).amax()
            scale = torch.where(largest > _BIG, torch.full_like(largest, _SHRINK),
                                torch.where((largest < _SMALL) & (largest > 0), torch.full_like(largest, _GROW),
                                            torch.ones_like(largest)))
    if scaled is None or not isinstance(scale, torch.Tensor):
        scaled = _times
    total = sum(scaled(wide(of(piece)), _to(scale, piece), piece).square().sum().to(device) for piece in pieces)
    return total.sqrt(), scale


def _to(x, piece):
    return x.to(piece.g.device) if isinstance(x, torch.Tensor) else x


def _times(x, s, piece):
    return x * s


def _difference(x, s, piece):
    return torch.where(piece.increment != 0, wide(piece.g) * s - wide(piece.before) * s, torch.zeros_like(x))


def _get(norm):
    value, scale = norm
    return value / scale


class _Step:
    def __init__(self, slots, cold):
        self.pieces = [_Piece(slot, cold) for slot in slots]
        self.device = self.pieces[0].g.device
        self.size = sum(piece.g.numel() for piece in self.pieces)
        self.norm = _norm(self.pieces, lambda piece: piece.increment, _difference)
        self.bad = sum(piece.bad.to(self.device) for piece in self.pieces)
        self.kept = self.clipped = None
        self.next = []

    def constant(self, x):
        return torch.full_like(self.norm[0], x)

    def finish(self, kept, clipped):
        self.kept = torch.where(_get(self.norm) > 0, kept, torch.zeros_like(kept))
        self.clipped = clipped

    # m <- m + f v, f times the scale of the norm; where the share is 1 it is g.
    def radial(self, factor, share, clipped):
        scale = self.norm[1]
        for piece in self.pieces:
            s, f = _to(scale, piece), _to(factor, piece).to(piece.g.dtype)
            v = piece.increment if not isinstance(s, torch.Tensor) else \
                torch.where(piece.increment != 0, piece.g * s - piece.before * s, torch.zeros_like(piece.g))
            self.next.append(torch.where(_to(share, piece) == 1, piece.g, piece.before + v * f))
        self.finish(1 - share, clipped)

    # The factor radius / |v|, on v times the scale, and as a share of v.
    def _scaled_to(self, radius):
        value, scale = self.norm
        safe = torch.where(value > 0, value, torch.ones_like(value))
        return radius / safe, radius / safe * scale

    def _plain(self, f, cut=None, inside=None):
        """The factor f where the norm is inside, else what cuts to a radius."""
        scale = self.norm[1]
        plain = self.constant(f) / scale
        if cut is None:
            return self.radial(plain, self.constant(f), torch.zeros_like(plain))
        factor, share = self._scaled_to(cut)
        return self.radial(torch.where(inside, plain, factor), torch.where(inside, self.constant(f), share),
                           torch.logical_not(inside).to(plain.dtype))

    def distance(self, name, tau, subgradient, p=None, mu=None):
        value, scale = self.norm
        if name == "lp" and p in (1, 2):
            name = "l1" if p == 1 else "l2"
        if name == "squared":
            self._plain(tau if subgradient else tau / (1 + tau))
        elif name == "l2" and not subgradient:
            self._plain(1.0, tau, value <= tau * scale)
        elif name == "l2":
            factor, share = self._scaled_to(tau)
            zero = torch.zeros_like(value)
            self.radial(torch.where(value > 0, factor, zero), torch.where(value > 0, share, zero),
                        (value > tau * scale).to(value.dtype))
        elif name == "huber" and not subgradient:
            self._plain(tau / (1 + tau), mu * tau, value <= mu * scale * (1 + tau))
        elif name == "huber":
            self._plain(tau, mu * tau, value <= mu * scale)
        elif name == "l1":
            self.componentwise(tau, subgradient)
        else:
            self.general(p, tau, subgradient)

    def componentwise(self, tau, subgradient):
        clipped, moves = self.constant(0.0), []
        for piece in self.pieces:
            clipped = clipped + (piece.increment.abs() > tau).sum().to(self.device)
            after = piece.before + piece.increment.sign() * tau if subgradient else \
                torch.minimum(torch.maximum(piece.g, piece.before - tau), piece.before + tau)
            self.next.append(after)
            moves.append(after - piece.before)
        by_piece = dict(zip(map(id, self.pieces), moves))
        moved = _get(_norm(self.pieces, lambda piece: by_piece[id(piece)]))
        whole = torch.zeros_like(clipped, dtype=torch.bool) if subgradient else clipped == 0
        self.finish(torch.where(whole, torch.zeros_like(moved), 1 - moved / _get(self.norm)), clipped / max(self.size, 1))

    # The whole vector, on the CPU and in double, by the core.
    def general(self, p, tau, subgradient):
        if self.device.type == "meta":
            raise ValueError(f"the step of lp with p = {p:g} is computed on the CPU; there is nothing on the device meta.")
        v = np.concatenate([piece.increment.detach().to("cpu", torch.float64).reshape(-1).numpy() for piece in self.pieces])
        moved = tau * _core.subgradient("lp", {"p": p}, v[None])[0] if subgradient else \
            _core.project(_dual(p), tau, v[None])[0]
        at = 0
        for piece in self.pieces:
            part = torch.from_numpy(moved[at:at + piece.g.numel()]).reshape(piece.g.shape)
            self.next.append(piece.before + part.to(piece.before))
            at += piece.g.numel()
        kept = 1 - self.constant(float(np.linalg.norm(moved))) / _get(self.norm)
        self.finish(kept, (kept > 1e-12).to(kept.dtype))

    def clipped_mean(self, beta, clip):
        norm = _norm(self.pieces, lambda piece: torch.where(piece.missing, torch.zeros_like(piece.g), piece.g))
        value, scale = norm
        inside = value <= clip * scale
        safe = torch.where(value > 0, value, torch.ones_like(value))
        factor = torch.where(inside, torch.ones_like(value) / scale, clip / safe)
        for piece in self.pieces:
            f = (_to(factor, piece) * (1 - beta)).to(piece.g.dtype)
            after = piece.before * beta + (piece.g * _to(scale, piece)) * f
            self.next.append(torch.where(piece.missing, piece.before, after))
        self.finish(1 - factor * scale * (1 - beta), torch.logical_not(inside).to(value.dtype))

    def write(self, robust, keeps_w):
        """m and w; what was seen, and whether the step was left out."""
        skipped = None if robust else self.bad > 0
        for piece, after in zip(self.pieces, self.next):
            slot, m = piece.slot, piece.slot.state["m"]
            most = torch.finfo(m.dtype).max
            after = after.clamp(-most, most)
            skip = None if skipped is None else skipped.to(m.device)
            m.copy_(after if skip is None else torch.where(skip, m, after))
            if not keeps_w:
                w = slot.w.to(m.dtype) * slot.settings.shrink - m * slot.settings.eta
                slot.w.copy_(w if skip is None else torch.where(skip, slot.w.to(m.dtype), w))
        return (_get(self.norm), self.kept, self.clipped, self.bad), False if skipped is None else skipped


def _dual(p):
    return 1.0 if math.isinf(p) else math.inf if p == 1 else p / (p - 1)


def step(parts, slots, cold, robust, keeps_w):
    """One online step of the slots. ((increment_norm, effective_beta, clipped_share, non_finite), skipped), tensors all."""
    run = _Step(slots, cold)
    if parts["step"] == "clipped-mean":
        run.clipped_mean(parts["beta"], parts["clip"])
    else:
        run.distance(parts["distance"], parts["tau"], parts["step"] == "subgradient", parts.get("p"), parts.get("mu"))
    return run.write(robust, keeps_w)


def adapt(beta1, beta2, eps, slots, skipped):
    """v and w of Adam's step, after m's: see include/medgrad/optimize.h."""
    for slot in slots:
        m, v, settings, t = slot.state["m"], slot.state["v"], slot.settings, slot.state["step"]
        first, second = 1 - beta1**t, 1 - beta2**t
        w, g = slot.w.to(m.dtype), slot.w.grad.to(m.dtype)
        if settings.decay != 0:
            g = g + w * settings.decay
        seen = g.abs().clamp(max=math.sqrt(torch.finfo(m.dtype).max) / 2)
        v_after = torch.where(torch.isnan(g), v, v * beta2 + seen * seen * (1 - beta2))
        size = v_after.sqrt() / second**0.5 + eps
        w_after = w * settings.shrink - m * (settings.eta / first) / size
        if skipped is not None:
            skip = skipped.to(m.device)
            v_after, w_after = torch.where(skip, v, v_after), torch.where(skip, w, w_after)
        v.copy_(v_after)
        slot.w.copy_(w_after)
