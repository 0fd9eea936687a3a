#!/usr/bin/python3
"""The plain numpy peer of the synthetic experiments: a first good version, at the paper's scale, on one thread.

Time is a loop in Python; seeds, laws and grids are axes of arrays, the d components the last axis. Every line is
a whole-array expression as one writes it. synthetic.py is the same written for speed.

    synthetic_plain.py            seconds per experiment
    synthetic_plain.py --check    agreement with tests/golden
"""
from synthetic_common import (ABLATION, D, ETA, ETA_SMOOTH, HORIZONS, HUBER, INV_ALPHA, MOMENTS, SEEDS,
                              SMOOTH_HORIZONS, cauchy_excess, experiments, main, marks)

import numpy as np


# ---- noise --------------------------------------------------------------------------------------------

def stable(rng, alpha, beta, shape):
    """Standard stable variables, form S1, by Chambers, Mallows and Stuck's transform. alpha may be an array that
    broadcasts against the shape; where beta is not 0, alpha = 1 is another law."""
    u = rng.uniform(-np.pi / 2, np.pi / 2, shape)
    w = rng.exponential(size=shape)
    cos_u = np.cos(u)
    if beta == 0:
        return np.sin(alpha * u) / cos_u * (np.cos((1 - alpha) * u) / (w * cos_u)) ** ((1 - alpha) / alpha)
    t = beta * np.tan(np.pi * alpha / 2)
    top = np.sin(alpha * u) + t * np.cos(alpha * u)
    inner = np.cos((1 - alpha) * u) + t * np.sin((1 - alpha) * u)
    return top / cos_u * (inner / (w * cos_u)) ** ((1 - alpha) / alpha)


def skewed_cauchy(rng, beta, shape):
    """The same for alpha = 1."""
    u = rng.uniform(-np.pi / 2, np.pi / 2, shape)
    w = rng.exponential(size=shape)
    v = np.pi / 2 + beta * u
    return 2 / np.pi * (v * np.tan(u) - beta * np.log(np.pi / 2 * w * np.cos(u) / v))


def elliptical(rng, alpha, shape):
    """sqrt(A) G: the components of a vector, along the last axis, have A in common."""
    a = 2 * np.cos(np.pi * alpha / 4) ** (2 / alpha) * stable(rng, alpha / 2, 1.0, (*shape[:-1], 1))
    return np.sqrt(a) * rng.standard_normal(shape)


# ---- estimators ---------------------------------------------------------------------------------------

def norm(v):
    return np.linalg.norm(v, axis=-1, keepdims=True)


def momentum(m, g, tau):
    return m + tau / (1 + tau) * (g - m)


def vclip(m, g, tau):
    v = g - m
    return m + v * (tau / np.maximum(norm(v), tau))


def huber(m, g, tau, mu=HUBER):
    v = g - m
    return m + v * (mu * tau / np.maximum(norm(v), mu * (1 + tau)))


def cclip(m, g, tau):
    return m + np.clip(g - m, -tau, tau)


def geometric_median(x, tolerance=1e-10, cap=200):
    """Of n points, the first axis of x, by Weiszfeld's iteration. It starts at the best of the points, which is
    left by Vardi and Zhang's step or is the median; so no point is met again. With g, the sum of the unit vectors
    to the points, the relative gap is at most 2 |g| / n. At the cap, about one problem in 500 is not there yet."""
    n, problems = len(x), np.arange(x.shape[1])
    best = norm(x[:, None] - x).sum(axis=0)[..., 0].argmin(axis=0)
    m = x[best, problems]
    distances = norm(x - m)
    distances[best, problems] = np.inf
    g = ((x - m) / distances).sum(axis=0)
    pull = norm(g)
    m = m + np.maximum(1 - 1 / pull, 0) * g / (1 / distances).sum(axis=0)
    is_point = pull <= 1
    with np.errstate(divide="ignore", invalid="ignore"):  # weights are infinite at a point
        for _ in range(cap):
            v = x - m
            weights = 1 / norm(v)
            g = (weights * v).sum(axis=0)
            done = is_point | (2 * norm(g) <= tolerance * n)
            if done.all():
                break
            m = np.where(done, m, m + g / weights.sum(axis=0))
    return m


# ---- experiments --------------------------------------------------------------------------------------

def moments(seed):
    """{alpha: first and second moment (2, 2, n)} of median and mean of the first n = 1, 3, … rows."""
    rng, result = np.random.default_rng(seed), {}
    alphas, most, trials = MOMENTS
    for alpha in alphas:
        x = stable(rng, alpha, 0, (most, trials))
        sizes = range(1, most + 1, 2)
        estimates = np.array([[np.median(x[:n], axis=0) for n in sizes], [np.mean(x[:n], axis=0) for n in sizes]])
        result[alpha] = np.array([np.abs(estimates).mean(axis=-1), (estimates ** 2).mean(axis=-1)])
    return result


def toy(seed, tau=0.01, steps=1000, beta=0):
    """Relative errors (mark, method, 1/alpha, seed) of momentum, VClip, Huber, CClip, on the same noise."""
    rng = np.random.default_rng(seed)
    alphas = 1 / INV_ALPHA
    shape = len(alphas), SEEDS, D
    target = rng.standard_normal((SEEDS, D))
    methods = momentum, vclip, huber, cclip
    m = [np.zeros(shape) for _ in methods]
    errors, at = [], set(marks(steps))
    for t in range(steps + 1):
        if t in at:
            errors.append([np.linalg.norm(each - target, axis=-1) / np.linalg.norm(target, axis=-1) for each in m])
        if t == steps:
            break
        noise = stable(rng, alphas[:, None, None], beta, shape)
        if beta != 0:
            noise[alphas == 1] = skewed_cauchy(rng, beta, (SEEDS, D))
        g = target + noise
        m = [method(each, g, tau) for method, each in zip(methods, m)]
    return np.array(errors)


def least_squares(seed, setting, steps=1000, alpha=1.1, n=5, tau=1.0, beta=0.9, c=50.0):
    """Objectives (mark, method, seed) of SMGD with l1, l2, mean; CClip, VClip, Huber, clipped-SGD. The online
    methods see the first of the n samples."""
    rng = np.random.default_rng(seed)

    def clipped_sgd(m, g, _):
        return beta * m + (1 - beta) * g * (c / np.maximum(norm(g), c))

    def gradients(w, noise):
        return w + np.sqrt(1 + norm(w) ** 2) * noise if setting == "s2" else w + noise

    centres = lambda x: np.median(x, axis=0), geometric_median, lambda x: np.mean(x, axis=0)
    methods = cclip, vclip, huber, clipped_sgd
    w = np.ones((len(centres) + len(methods), SEEDS, D))
    m = np.zeros_like(w)
    objectives, at = [], set(marks(steps))
    for t in range(steps + 1):
        if t in at:
            objectives.append(0.5 * (w ** 2).sum(axis=-1))
        if t == steps:
            break
        if setting == "s3":
            noise = elliptical(rng, alpha, (n, SEEDS, D))
        else:
            noise = stable(rng, alpha, 0, (n, SEEDS, D))
        for i, centre in enumerate(centres):
            m[i] = centre(gradients(w[i], noise))
        for i, method in enumerate(methods, len(centres)):
            m[i] = method(m[i], gradients(w[i], noise[0]), tau)
        w = w - ETA * m
    return np.array(objectives)


def huber_ablation(seed, steps=1000):
    """Objectives (mark, mu, tau, seed) on S1, all cells on the same noise."""
    rng = np.random.default_rng(seed)
    mu, tau = (a[..., None, None] for a in np.meshgrid(*ABLATION, indexing="ij"))
    w = np.ones((*mu.shape[:2], SEEDS, D))
    m = np.zeros_like(w)
    objectives, at = [], set(marks(steps))
    for t in range(steps + 1):
        if t in at:
            objectives.append(0.5 * (w ** 2).sum(axis=-1))
        if t == steps:
            break
        m = huber(m, w + stable(rng, 1.1, 0, (SEEDS, D)), tau, mu)
        w = w - ETA * m
    return np.array(objectives)


def rates(seed):
    """What is measured for each of SMOOTH_HORIZONS and HORIZONS (horizon, seed): the mean squared gradient of the
    smooth problem, the objective of the averaged iterate of the convex one, the excess of SPP's average. All horizons
    see the same noise; those that are over are left out."""
    rng = np.random.default_rng(seed)
    horizons = np.array(SMOOTH_HORIZONS)[:, None]
    w, sum_gradient = np.ones((len(horizons), SEEDS)), np.zeros((len(horizons), SEEDS))
    for t in range(max(SMOOTH_HORIZONS)):
        k = np.count_nonzero(horizons > t)  # those still running
        sum_gradient[:k] += w[:k] ** 2
        samples = w[:k] + np.sqrt(1 + w[:k] ** 2) * stable(rng, 1.1, 0, (5, 1, SEEDS))
        w[:k] -= ETA_SMOOTH / np.sqrt(horizons[:k]) * np.median(samples, axis=0)
    smooth = sum_gradient / horizons

    horizons = np.array(HORIZONS)[:, None, None]
    shape = len(horizons), SEEDS, D
    theta = horizons / (horizons + 2)
    z, m, target = np.ones(shape), np.zeros(shape), rng.standard_normal((SEEDS, D))
    sum_z, sum_m = np.zeros(shape), np.zeros(shape)
    for t in range(max(HORIZONS)):
        k = np.count_nonzero(horizons > t)
        root = np.sqrt(horizons[:k])
        noise = stable(rng, 1.1, 0, (5, 1, SEEDS, D))

        sum_z[:k] += theta[:k] ** t * z[:k]
        z[:k] -= 1 / root * np.median(np.sign(z[:k]) + noise, axis=0)

        m[:k] = cclip(m[:k], target + rng.standard_cauchy((SEEDS, D)), 1 / root)
        sum_m[:k] += m[:k]
    mean_z = sum_z * (1 - theta) / (1 - theta ** horizons)
    return {"smooth": smooth, "lipschitz": np.abs(mean_z).sum(axis=-1),
            "spp": cauchy_excess(sum_m / horizons - target).sum(axis=-1)}


EXPERIMENTS = experiments(moments, toy, least_squares, huber_ablation, rates)

if __name__ == "__main__":
    main(__doc__, EXPERIMENTS)
