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


def _taken(slot):
    """What is taken as g, in the type of m."""
    kind = slot.state["m"].dtype
    g = slot.w.grad.to(kind)
    return g + slot.w.to(kind) * slot.settings.decay if slot.settings.decay != 0 else g


class _Piece:
    """One tensor of the unit: what goes in as g (finite), m before (0 where cold), the increment."""
    __slots__ = ("slot", "g", "before", "increment", "missing", "bad", "unbounded")

    def __init__(self, slot, cold):
        m, g = slot.state["m"], _taken(slot)
        most = torch.finfo(m.dtype).max
        self.slot = slot
        self.bad = torch.logical_not(torch.isfinite(g)).sum()
        self.missing = torch.isnan(g)
        self.unbounded = torch.isinf(g)
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
        self.tau = self.length = 0.0  # tau, and the S of tau = auto
        self.before, self.new = None, False  # S before the step, and whether it is known that there is none
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
        self.tau = tau
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
            most = _to(tau, piece)
            clipped = clipped + (piece.increment.abs() > most).sum().to(self.device)
            after = piece.before + piece.increment.sign() * most if subgradient else \
                torch.minimum(torch.maximum(piece.g, piece.before - most), piece.before + most)
            self.next.append(after)
            moves.append(after - piece.before)
        by_piece = dict(zip(map(id, self.pieces), moves))
        moved = _get(_norm(self.pieces, lambda piece: by_piece[id(piece)]))
        whole = torch.zeros_like(clipped, dtype=torch.bool) if subgradient else clipped == 0
        self.finish(torch.where(whole, torch.zeros_like(moved), 1 - moved / _get(self.norm)), clipped / max(self.size, 1))

    # tau from the size S of the increments: src/core/automatic.cc, with decisions that stay on the device.
    def automatic(self, name, theta, level, rate, size, mu=None):
        self.new = not isinstance(size, torch.Tensor) and size == 0
        self.before = before = torch.as_tensor(size, dtype=self.norm[0].dtype, device=self.device)
        value, scale = self.norm
        if name == "l1":
            return self._count(theta, level, rate, before)
        seen = _get(self.norm)
        unbounded = sum(piece.unbounded.sum().to(self.device) for piece in self.pieces) > 0
        followed = torch.minimum(torch.maximum(seen, before * math.exp(-rate * (1 - level))), before * math.exp(rate * level))
        self.length = torch.where(unbounded | (seen == 0) | torch.logical_not(torch.isfinite(seen)), before,
                                  torch.where(before == 0, seen, _in_range(followed)))
        if name == "huber":
            self.tau, radius = self.constant(theta), _in_range(self.length * mu)
            self._plain(theta / (1 + theta), radius * theta, value <= radius * scale * (1 + theta))
        else:
            self.tau = _in_range(self.length * theta)
            self._plain(1.0, self.tau, value <= self.tau * scale)
        self._stay_without_size(self.length == 0)

    def _count(self, theta, level, rate, before):
        before = self._seeded(level, before)
        self.tau = _in_range(before * theta)
        moving = within = self.constant(0.0)
        for piece in self.pieces:
            moves = piece.increment != 0
            moving = moving + moves.sum().to(self.device)
            within = within + (moves & (piece.increment.abs() <= _to(before, piece))).sum().to(self.device)
        share = within / torch.where(moving > 0, moving, torch.ones_like(moving))
        self.length = torch.where((moving > 0) & (before > 0), _in_range(before * torch.exp(rate * (level - share))), before)
        self.componentwise(self.tau, False)
        self._stay_without_size(before == 0)

    # S of components, the first one where there is none: their exact quantile, for which all are sorted. A device that had none
    # after its first step, all increments having been 0, takes the mean of those that are not: to ask would be to wait for it.
    def _seeded(self, level, before):
        known = before.item() if self.device.type == "cpu" else None
        if known:
            return before
        sizes = torch.cat([piece.increment.abs().to(self.device).reshape(-1) for piece in self.pieces])
        moving = (sizes != 0).sum()
        if sizes.numel() == 0:
            first = torch.zeros_like(before)
        elif self.new or known == 0:
            most, sizes = torch.finfo(sizes.dtype).max, torch.sort(sizes).values
            rank = torch.minimum(torch.ceil(wide(moving) * level).to(moving.dtype).clamp(min=1), moving)
            at = (sizes.numel() - moving + rank - 1).clamp(0, sizes.numel() - 1)
            found = torch.index_select(sizes, 0, at.reshape(1)).reshape(())
            first = torch.where(found < most, wide(found), torch.zeros_like(before))
        else:
            first = wide(sizes).sum() / moving.clamp(min=1)
        return torch.where(before == 0, first, before)

    # m and the rest stay where there is nothing to go by yet.
    def _stay_without_size(self, none):
        self.next = [torch.where(_to(none, piece), piece.before, after) for piece, after in zip(self.pieces, self.next)]
        self.tau = torch.where(none, torch.zeros_like(self.length), self.tau)
        self.finish(torch.where(none, torch.ones_like(self.kept), self.kept),
                    torch.where(none, torch.zeros_like(self.clipped), self.clipped))

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
        if skipped is not None and self.before is not None:
            self.length = torch.where(skipped, self.before, self.length)
        info = (_get(self.norm), self.kept, self.clipped, self.bad, self.tau, self.length)
        return info, False if skipped is None else skipped


def _dual(p):
    return 1.0 if math.isinf(p) else math.inf if p == 1 else p / (p - 1)


def _in_range(x):
    """Positive and finite, whatever it was multiplied by."""
    kind = torch.finfo(x.dtype)
    return x.clamp(kind.tiny * kind.eps, kind.max)


def step(parts, slots, cold, robust, keeps_w, size=None):
    """One online step of the slots; size is the S of tau = auto. ((increment_norm, effective_beta, clipped_share, non_finite,
    tau, size), skipped), tensors all but a tau that is given."""
    run = _Step(slots, cold)
    if parts["step"] == "clipped-mean":
        run.clipped_mean(parts["beta"], parts["clip"])
    elif "theta" in parts:
        run.automatic(parts["distance"], parts["theta"], parts["level"], parts["rate"], size, parts.get("mu"))
    else:
        run.distance(parts["distance"], parts["tau"], parts["step"] == "subgradient", parts.get("p"), parts.get("mu"))
    return run.write(robust, keeps_w)


def adapt(method, slots, skipped):
    """v and w of Adam's step, after m's: see include/medgrad/optimize.h."""
    for slot in slots:
        m, v, t = slot.state["m"], slot.state["v"], slot.state["step"]
        g = _taken(slot)
        seen = g.abs().clamp(max=_root_of_most(m))
        v_after = torch.where(torch.isnan(g), v, v * method.beta2 + seen * seen * (1 - method.beta2))
        _follow(method, slot, m, v_after, t, skipped)


def cut(method, slots, robust):
    """All of an adaptive step that cuts: see include/medgrad/optimize.h. What step() gives, without tau."""
    device = slots[0].w.device
    bad = sum(torch.logical_not(torch.isfinite(_taken(slot))).sum().to(device) for slot in slots)
    skipped = False if robust else bad > 0
    increment = taken = clipped = wide(torch.zeros((), device=device))
    for slot in slots:
        m, v, t, g = slot.state["m"], slot.state["v"], slot.state.get("step", 0) + 1, _taken(slot)
        missing, most = torch.isnan(g), _root_of_most(m)
        # Before the first step v is 0, and its correction no number: nothing is cut there.
        before = 1 - method.beta2 ** (t - 1)
        before = torch.where(before > 0, before, torch.ones_like(before)) if isinstance(before, torch.Tensor) else before or 1.0
        bound = torch.where(v == 0, torch.full_like(v, most), (v.sqrt() / before**0.5 * method.cut).clamp(max=most))
        whole = torch.where(missing, torch.zeros_like(m), g - m)
        part = torch.minimum(torch.maximum(whole, -bound), bound)
        clipped = clipped + (whole != part).sum().to(device)
        increment = increment + wide(whole.clamp(-most, most)).square().sum().to(device)
        taken = taken + wide(part).square().sum().to(device)
        size = (m + part).abs().clamp(max=most)
        v_after = torch.where(missing, v, v * method.beta2 + size * size * (1 - method.beta2))
        m_after = m + part * (1 - method.beta1)
        m.copy_(m_after if robust else torch.where(skipped.to(m.device), m, m_after))
        _follow(method, slot, m, v_after, t, None if robust else skipped)
    norm, moved = increment.sqrt(), taken.sqrt()
    safe = torch.where(norm > 0, norm, torch.ones_like(norm))
    kept = torch.where(norm > 0, 1 - (1 - method.beta1) * moved / safe, torch.zeros_like(norm))
    return (norm, kept, clipped / max(sum(slot.w.numel() for slot in slots), 1), bad, 0.0, 0.0), skipped


def _root_of_most(m):
    return math.sqrt(torch.finfo(m.dtype).max) / 2


def _follow(method, slot, m, v_after, t, skipped):
    """v and w of the t-th step of Adam along m; both stay where it is skipped."""
    v, settings, w = slot.state["v"], slot.settings, slot.w.to(m.dtype)
    first, second = 1 - method.beta1**t, 1 - method.beta2**t
    w_after = w * settings.shrink - m * (settings.eta / first) / (v_after.sqrt() / second**0.5 + method.epsilon)
    if skipped is not None:
        skip = skipped.to(m.device)
        v_after, w_after = torch.where(skip, v, v_after), torch.where(skip, w, w_after)
    v.copy_(v_after)
    slot.w.copy_(w_after)
