#!/usr/bin/python3
"""The tuned numpy peer of the synthetic experiments, at the paper's scale and on one thread.

Time is a loop in Python; everything else (seeds, laws, methods) is an axis of an array. The last axis is
always the independent runs, so that a norm over the d components adds up whole rows. Methods see gradients
only: what could be worked out beforehand because the noise is known is not.

    synthetic.py            seconds per experiment
    synthetic.py --check    agreement with tests/golden
"""
from synthetic_common import (ABLATION, D, ETA, ETA_SMOOTH, HORIZONS, HUBER, INV_ALPHA, MOMENTS, SEEDS,
                              SMOOTH_HORIZONS, cauchy_excess, experiments, main, marks)

import numpy as np

BLOCK = 16_384  # numbers drawn at once: all arrays on the way stay in the second-level cache


# ---- noise --------------------------------------------------------------------------------------------

def stable(rng, alpha, beta, out):
    """Fills `out` with standard stable variables, form S1, by Chambers, Mallows and Stuck's transform."""
    if alpha == 2:
        return np.multiply(rng.standard_normal(out.shape), np.sqrt(2), out=out)
    u = rng.random(out.shape)
    u -= 0.5
    u *= np.pi
    if alpha == 1 and beta == 0:
        return np.tan(u, out=out)
    w = np.log(rng.random(out.shape))  # minus an exponential variable; cheaper than standard_exponential
    cos_u = np.cos(u)
    w *= cos_u
    if alpha == 1:
        v = beta * u
        v += np.pi / 2
        np.log(w / v * (-np.pi / 2), out=w)
        w *= -beta
        v *= np.tan(u, out=u)
        v += w
        return np.multiply(v, 2 / np.pi, out=out)
    t = beta * np.tan(np.pi * alpha / 2)
    d = (1 - alpha) * u
    p = np.cos(d)
    if t:
        p += t * np.sin(d)
    u *= alpha
    b = np.sin(u)
    if t:
        b += t * np.cos(u)
    b /= cos_u
    p /= w
    np.log(np.negative(p, out=p), out=p)
    p *= (1 - alpha) / alpha
    return np.multiply(b, np.exp(p, out=p), out=out)


def elliptical(rng, alpha, out):
    """Fills `out` (…, d, runs) with sqrt(A) G: the vectors along the axis before the last."""
    a = stable(rng, alpha / 2, 1.0, np.empty(out.shape[:-2] + (1,) + out.shape[-1:]))
    a *= 2 * np.cos(np.pi * alpha / 4) ** (2 / alpha)
    return np.multiply(rng.standard_normal(out.shape), np.sqrt(a, out=a), out=out)


def stream(rng, steps, shape, fill, laws=1):
    """The noise of one step after the other. `fill` is called for a block of steps, and draws `laws` parts."""
    block = np.empty((max(1, laws * BLOCK // int(np.prod(shape))), *shape))
    for first in range(0, steps, len(block)):
        part = block[:steps - first]
        fill(rng, part)
        yield from part


def iid(alpha):
    return lambda rng, out: stable(rng, alpha, 0.0, out)


# ---- estimators ---------------------------------------------------------------------------------------

def squares(v):
    """The squared lengths of vectors along the axis before the last."""
    return np.einsum("...ds,...ds->...s", v, v)


def median_of_five(x):
    a, b, c, d, e = x
    f = np.maximum(np.minimum(a, b), np.minimum(c, d))
    g = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(f, g), np.minimum(np.maximum(f, g), e))


def pull(x, m):
    """For the geometric median of x (n, d, runs) near m: x - m, the weights 1 / |x - m|, the sum of the unit
    vectors from m to the points, and its length. A length of n eps certifies a relative gap of about eps."""
    v = x - m
    weights = 1 / np.sqrt(squares(v))
    g = np.einsum("is,ids->ds", weights, v)
    return v, weights, g, np.sqrt(squares(g))


def newton(v, weights, g):
    """Newton's step. The Hessian is a I - U U^T with the n columns weight_i^(3/2) v_i of U, so that by
    Woodbury's identity a system of n equations is enough."""
    a = weights.sum(axis=0)
    u = v * (weights * np.sqrt(weights))[:, None]
    k = -np.einsum("ids,jds->sij", u, u)
    np.einsum("sii->si", k)[:] += a[:, None]
    try:
        y = np.linalg.solve(k, np.einsum("ids,ds->si", u, g))
    except np.linalg.LinAlgError:
        return g / a
    return (g + np.einsum("ids,si->ds", u, y)) / a


def geometric_median(x, tolerance=1e-10, warm=8, steps=4):
    """A few of Weiszfeld's iterations from the componentwise median, then Newton's, on all runs at once; the
    runs for which that was not enough (those with the median at or next to a point) are done carefully."""
    m = median_of_five(x)
    for _ in range(warm):
        v = x - m
        weights = 1 / np.sqrt(squares(v))
        m += np.einsum("is,ids->ds", weights, v) / weights.sum(axis=0)
    v, weights, g, length = pull(x, m)
    for _ in range(steps):
        if (length <= tolerance * len(x)).all():
            return m
        m += newton(v, weights, g)
        v, weights, g, length = pull(x, m)
    left = np.flatnonzero(~(length <= tolerance * len(x)))
    if len(left):
        m[:, left] = careful_geometric_median(x[..., left], tolerance)
    return m


def careful_geometric_median(x, tolerance, cap=100):
    """Vardi and Zhang's test and step at the best of the points; from there Newton's steps where they shorten
    the gradient, and Weiszfeld's where they don't."""
    runs = np.arange(x.shape[-1])
    distances = np.sqrt(squares(x[:, None] - x))
    best = distances.sum(axis=0).argmin(axis=0)
    start = x[best, :, runs].T
    weights = 1 / distances[best, :, runs].T
    weights[best, runs] = 0
    r = np.einsum("is,ids->ds", weights, x - start)
    length = np.sqrt(squares(r))
    m = start + np.maximum(length - 1, 0) / length / weights.sum(axis=0) * r
    left = np.flatnonzero(length > 1)
    for _ in range(cap):
        if len(left) == 0:
            break
        y, z = x[..., left], m[:, left]
        v, weights, g, length = pull(y, z)
        trial = z + newton(v, weights, g)
        shorter = pull(y, trial)[3] < length
        m[:, left] = np.where(shorter, trial, z + g / weights.sum(axis=0))
        left = left[~(length <= tolerance * len(x))]
    return m


# ---- experiments --------------------------------------------------------------------------------------

def moments(seed, columns=500):
    """{alpha: first and second moment (2, 2, n)} of median and mean of the first n = 1, 3, … rows.
    The median comes from rows kept in order, into which one row after the other is inserted."""
    rng, result = np.random.Generator(np.random.SFC64(seed)), {}
    alphas, most, trials = MOMENTS
    for alpha in alphas:
        sums = np.zeros((2, 2, (most + 1) // 2))
        for _ in range(0, trials, columns):
            x = np.empty((most, columns))
            for row in range(0, most, BLOCK // columns):
                stable(rng, alpha, 0.0, x[row:row + BLOCK // columns])
            estimates = np.empty((2, (most + 1) // 2, columns))
            np.divide(x.cumsum(axis=0)[::2], np.arange(1, most + 1, 2)[:, None], out=estimates[1])
            ordered, shifted = np.full((2, most + 1, columns), np.inf)
            shifted[0] = -np.inf
            for n, row in enumerate(x, 1):
                shifted[1:n] = ordered[:n - 1]
                np.minimum(ordered[:n], np.maximum(shifted[:n], row, out=shifted[:n]), out=ordered[:n])
                shifted[0] = -np.inf
                if n % 2:
                    estimates[0, n // 2] = ordered[n // 2]
            sums[0] += np.abs(estimates).sum(axis=-1)
            sums[1] += np.einsum("enc,enc->en", estimates, estimates)
        result[alpha] = sums / trials
    return result


def toy(seed, tau=0.01, steps=1000, beta=0.0):
    """Relative errors (mark, method, 1/alpha, seed) of momentum, VClip, Huber, CClip, on the same noise."""
    rng = np.random.Generator(np.random.SFC64(seed))
    laws = len(INV_ALPHA)

    def fill(rng, out):
        parts = out.reshape(len(out), D, laws, SEEDS)
        for i, inv_alpha in enumerate(INV_ALPHA):
            stable(rng, 1 / inv_alpha, beta, parts[:, :, i])
        out += target

    target = np.repeat(rng.standard_normal((D, 1, SEEDS)), laws, axis=1).reshape(D, -1)
    length = np.sqrt(squares(target))
    m, v = np.zeros((2, 4, *target.shape))
    reach, floor = np.array([[tau, HUBER * tau], [tau, HUBER * (1 + tau)]])[..., None]
    errors, at = [], set(marks(steps))
    for t, g in enumerate(stream(rng, steps, target.shape, fill, laws)):
        if t in at:
            errors.append(np.sqrt(squares(m - target)) / length)
        np.subtract(g, m, out=v)
        v[0] *= tau / (1 + tau)
        norms = np.sqrt(squares(v[1:3]))
        v[1:3] *= (reach / np.maximum(norms, floor, out=norms))[:, None]
        np.minimum(np.maximum(v[3], -tau, out=v[3]), tau, out=v[3])
        m += v
    errors.append(np.sqrt(squares(m - target)) / length)
    return np.array(errors).reshape(-1, 4, laws, SEEDS)


def least_squares(seed, setting, steps=1000, alpha=1.1, n=5, tau=1.0, beta=0.9, c=50.0):
    """Objectives (mark, method, seed) of SMGD with l1, l2, mean; CClip, VClip, Huber, clipped-SGD. The online
    methods see the first of the n samples."""
    rng = np.random.Generator(np.random.SFC64(seed))
    fill = iid(alpha) if setting != "s3" else lambda rng, out: elliptical(rng, alpha, out)
    w, step, m = np.ones((7, D, SEEDS)), np.empty((7, D, SEEDS)), np.zeros((4, D, SEEDS))
    samples, v = np.empty((3, n, D, SEEDS)), np.empty((4, D, SEEDS))
    reach = np.array([tau, HUBER * tau, (1 - beta) * c])[:, None]
    floor = np.array([tau, HUBER * (1 + tau), c])[:, None]
    objectives, at = [], set(marks(steps))
    with np.errstate(all="ignore"):  # runs may diverge, and weights are infinite at a point
        for t, x in enumerate(stream(rng, steps, (n, D, SEEDS), fill)):
            if t in at:
                objectives.append(squares(w) / 2)
            if setting == "s2":
                scale = np.sqrt(1 + squares(w))[:, None]
                np.multiply(x, scale[:3, None], out=samples)
                samples += w[:3, None]
                np.multiply(x[0], scale[3:], out=v)
                v += w[3:]
            else:
                np.add(x, w[:3, None], out=samples)
                np.add(x[0], w[3:], out=v)
            step[0] = median_of_five(samples[0])
            step[1] = geometric_median(samples[1])
            np.divide(np.add.reduce(samples[2], axis=0, out=step[2]), n, out=step[2])
            v[:3] -= m[:3]
            np.minimum(np.maximum(v[0], -tau, out=v[0]), tau, out=v[0])
            v[1:] *= (reach / np.maximum(np.sqrt(squares(v[1:])), floor))[:, None]
            m[3] *= beta
            m += v
            step[3:] = m
            w -= np.multiply(step, ETA, out=step)
        objectives.append(squares(w) / 2)
    return np.array(objectives)


def huber_ablation(seed, steps=1000):
    """Objectives (mark, mu, tau, seed) on S1, all cells on the same noise."""
    rng = np.random.Generator(np.random.SFC64(seed))
    mu, tau = np.meshgrid(*ABLATION, indexing="ij")
    reach, floor = (mu * tau).reshape(-1, 1), (mu * (1 + tau)).reshape(-1, 1)
    w, m = np.ones((mu.size, D, SEEDS)), np.zeros((mu.size, D, SEEDS))
    v, objectives, at = np.empty_like(w), [], set(marks(steps))
    for t, x in enumerate(stream(rng, steps, (D, SEEDS), iid(1.1))):
        if t in at:
            objectives.append(squares(w) / 2)
        np.add(w, x, out=v)
        v -= m
        norms = np.sqrt(squares(v))
        v *= (reach / np.maximum(norms, floor, out=norms))[:, None]
        m += v
        w -= np.multiply(m, ETA, out=v)
    objectives.append(squares(w) / 2)
    return np.array(objectives).reshape(-1, *mu.shape, SEEDS)


def segments_of(horizons):
    """How many of them are still running, and for how many steps: from the beginning on."""
    return [(i + 1, last - first) for i, (last, first) in enumerate(zip(horizons, (*horizons[1:], 0)))][::-1]


def smooth_rates(rng):
    horizons = np.array(SMOOTH_HORIZONS)[:, None]
    eta, w, total = ETA_SMOOTH / np.sqrt(horizons), np.ones((len(horizons), SEEDS)), np.zeros((len(horizons), SEEDS))
    for active, steps in segments_of(SMOOTH_HORIZONS):
        w = w[:active].copy()
        samples, rate = np.empty((5, *w.shape)), eta[:active]
        for x in stream(rng, steps, (5, 1, SEEDS), iid(1.1)):
            gradient = w * w
            total[:active] += gradient
            np.multiply(x, np.sqrt(np.add(gradient, 1, out=gradient), out=gradient), out=samples)
            samples += w
            step = median_of_five(samples)
            w -= np.multiply(step, rate, out=step)
    return total / horizons


def rates(seed):
    """What is measured for each of SMOOTH_HORIZONS and HORIZONS (horizon, seed): the mean squared gradient of the
    smooth problem, the objective of the averaged iterate of the convex one, the excess of SPP's average. All horizons
    see the same noise. The shorter ones drop out."""
    rng = np.random.Generator(np.random.SFC64(seed))
    smooth = smooth_rates(rng)
    horizons, segments = np.array(HORIZONS), segments_of(HORIZONS)
    shape = D, len(horizons), SEEDS

    eta = (1 / np.sqrt(horizons))[:, None]
    theta, power = (horizons / (horizons + 2))[:, None], np.ones((len(horizons), 1))
    z, average = np.ones(shape), np.zeros(shape)
    for active, steps in segments:
        z = z[:, :active].copy()
        base, samples, rate = np.empty_like(z), np.empty((5, *z.shape)), eta[:active]
        for x in stream(rng, steps, (5, D, SEEDS), iid(1.1)):
            average[:, :active] += power[:active] * z
            power *= theta
            np.add(x[:, :, None], np.sign(z, out=base), out=samples)
            step = median_of_five(samples)
            z -= np.multiply(step, rate, out=step)
    lipschitz = np.abs(average).sum(axis=0) * (1 - theta) / (1 - theta ** horizons[:, None])

    tau, target = 1 / np.sqrt(horizons)[:, None], rng.standard_normal((D, 1, SEEDS))
    m, average = np.zeros((2, *shape))
    for active, steps in segments:
        here, total, reach = m[:, :active], average[:, :active], tau[:active]
        for x in stream(rng, steps, (D, 1, SEEDS), iid(1.0)):
            x += target
            v = x - here
            here += np.minimum(np.maximum(v, -reach, out=v), reach, out=v)
            total += here
    spp = cauchy_excess(average / horizons[:, None] - target).sum(axis=0)
    return {"smooth": smooth, "lipschitz": lipschitz, "spp": spp}


EXPERIMENTS = experiments(moments, toy, least_squares, huber_ablation, rates)

if __name__ == "__main__":
    main(__doc__, EXPERIMENTS)
