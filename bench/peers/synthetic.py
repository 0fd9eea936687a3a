#!/usr/bin/python3
"""The numpy peer of the synthetic experiments, at the paper's scale and on one thread.

Time is a loop in Python; everything else (seeds, laws, methods) is an axis of an array. The last axis is
always the independent runs, so that a norm over the d components adds up whole rows. Methods see gradients
only: what could be worked out beforehand because the noise is known is not.

    synthetic.py            seconds per experiment
    synthetic.py --check    agreement with tests/golden/synthetic.json
"""
import os

# Has to be set before numpy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import pathlib
import time

import numpy as np

SEEDS = 50
D = 10
INV_ALPHA = np.arange(5, 16) / 10
HORIZONS = (10_000, 3162, 1000, 316, 100)  # of the rates; the longest first
BLOCK = 16_384  # numbers drawn at once: all arrays on the way stay in the second-level cache
HUBER = 1.345
ABLATION = (0.1, 0.5, 1, 1.345, 2, 5, 10), (0.01, 0.1, 1, 10)  # mu and tau


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

def marks(steps):
    """The steps at which a curve is recorded."""
    return [0, *(k * 10 ** e for e in range(6) for k in range(1, 10) if k * 10 ** e <= steps)]


def moments(seed, trials=10_000, most=101, columns=500):
    """{alpha: first and second moment (2, 2, n)} of median and mean of the first n = 1, 3, … of `most` rows.
    The median comes from rows kept in order, into which one row after the other is inserted."""
    rng, result = np.random.Generator(np.random.SFC64(seed)), {}
    for alpha in (1.1, 1.5):
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


def least_squares(seed, setting, steps=1000, eta=0.01, alpha=1.1, n=5, tau=1.0, beta=0.9, c=50.0):
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
            w -= np.multiply(step, eta, out=step)
        objectives.append(squares(w) / 2)
    return np.array(objectives)


def huber_ablation(seed, steps=1000, eta=0.01):
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
        w -= np.multiply(m, eta, out=v)
    objectives.append(squares(w) / 2)
    return np.array(objectives).reshape(-1, *mu.shape, SEEDS)


def rates(seed):
    """What is measured for each of HORIZONS (horizon, seed): the mean squared gradient of the smooth problem,
    the objective of the averaged iterate of the convex one, the relative error of SPP's average. The horizons
    run side by side, and the shorter ones drop out."""
    rng = np.random.Generator(np.random.SFC64(seed))
    horizons = np.repeat(HORIZONS, SEEDS)
    shape = (D, len(horizons))

    def steps(samples, alpha):
        first = 0
        for active in range(len(HORIZONS), 0, -1):
            runs = slice(active * SEEDS)
            for x in stream(rng, HORIZONS[active - 1] - first, (*samples, D, active * SEEDS), iid(alpha)):
                yield runs, x
            first = HORIZONS[active - 1]

    sigma2 = 0.9697 * D  # C_5 d
    eta = np.minimum(1 / 8 / (1 + 2 * sigma2), 0.1 * 10 / np.sqrt(horizons))
    w, total = np.ones(shape), np.zeros(len(horizons))
    for runs, x in steps((5,), 1.1):
        here = w[:, runs]
        gradient = squares(here)
        total[runs] += gradient
        x *= np.sqrt(1 + gradient)
        x += here
        here -= eta[runs] * median_of_five(x)
    smooth = total / horizons

    eta, theta = 1 / np.sqrt(horizons), horizons / (horizons + 2)
    w, average, power = np.ones(shape), np.zeros(shape), np.ones(len(horizons))
    for runs, x in steps((5,), 1.1):
        here = w[:, runs]
        average[:, runs] += power[runs] * here
        power[runs] *= theta[runs]
        x += np.sign(here)
        here -= eta[runs] * median_of_five(x)
    lipschitz = np.abs(average).sum(axis=0) * (1 - theta) / (1 - power)

    tau, target = 1 / np.sqrt(horizons), rng.standard_normal(shape)
    m, average = np.zeros(shape), np.zeros(shape)
    for runs, x in steps((), 1.0):
        here = m[:, runs]
        average[:, runs] += here
        x += target[:, runs]
        x -= here
        here += np.minimum(np.maximum(x, -tau[runs], out=x), tau[runs], out=x)
    spp = np.sqrt(squares(average / horizons - target) / squares(target))
    return {"smooth": smooth.reshape(-1, SEEDS), "lipschitz": lipschitz.reshape(-1, SEEDS),
            "spp": spp.reshape(-1, SEEDS)}


EXPERIMENTS = {
    "moments": moments,
    "toy": toy,
    "toy-small-tau": lambda seed: toy(seed, tau=0.001),
    "toy-long": lambda seed: toy(seed, steps=10_000),
    "toy-skewed": lambda seed: toy(seed, beta=1.0),
    "least-squares-s1": lambda seed: least_squares(seed, "s1"),
    "least-squares-s2": lambda seed: least_squares(seed, "s2"),
    "least-squares-s3": lambda seed: least_squares(seed, "s3"),
    "huber-ablation": huber_ablation,
    "rates": rates,
}


def run_all(seed=1, names=EXPERIMENTS):
    """{name: seconds}, {name: what its function returned}."""
    seconds, results = {}, {}
    for name in names:
        start = time.perf_counter()
        results[name] = EXPERIMENTS[name](seed)
        seconds[name] = time.perf_counter() - start
    return seconds, results


# ---- agreement ----------------------------------------------------------------------------------------

def deviation(values, golden, by_median):
    """In standard errors. Where moments are infinite: how far from a half the share of values below the golden
    median is."""
    both = np.sqrt(1 / len(values) + 1 / golden["n"])
    if by_median:
        return 2 * (np.mean(values < golden["median"]) - 0.5) / both
    return (np.mean(values) - golden["mean"]) / (golden["sd"] * both)


def cells(golden, results):
    """(name, values, golden cell, whether to compare medians) of everything that can be compared."""
    for name, stored in golden["toy"].items():
        for method, cases in stored["methods"].items():
            i = ["momentum", "VClip", "Huber", "CClip"].index(method)
            for inv_alpha, cell in zip(stored["inv_alpha"], cases):
                j = int(np.argmin(abs(INV_ALPHA - inv_alpha)))
                yield (f"{name} {method} 1/alpha={inv_alpha}", results[name][-1, i, j], cell,
                       method == "momentum" and inv_alpha > 0.5)
    at = marks(1000)
    for name, stored in golden["least_squares"].items():
        for method, cases in stored["methods"].items():
            i = ["l1med", "l2med", "mean", "CClip", "VClip", "Huber", "clipSGD"].index(method)
            for step, cell in zip(stored["checkpoints"], cases):
                if 0 < step <= 1000:
                    yield (f"{name} {method} step {step}", results[name][at.index(step), i], cell,
                           method in ("l1med", "mean"))
    stored, (mus, taus) = golden["huber_ablation"], ABLATION
    for cell_name, cases in stored["cells"].items():
        mu, tau = (float(part) for part in cell_name[2:].split("_tau"))
        for step, cell in zip(stored["checkpoints"], cases):
            if step <= 1000:
                yield (f"huber-ablation {cell_name} step {step}",
                       results["huber-ablation"][at.index(step), mus.index(mu), taus.index(tau)], cell, False)


def check(seed, limit=4):
    path = pathlib.Path(__file__).parents[2] / "tests" / "golden" / "synthetic.json"
    golden = json.loads(path.read_text())
    _, results = run_all(seed, [*golden["toy"], *golden["least_squares"], "huber-ablation"])
    worst = sorted(((abs(deviation(*rest)), name) for name, *rest in cells(golden, results)), reverse=True)
    print(f"{len(worst)} cells, worst: {worst[0][1]}, {worst[0][0]:.2f} standard errors (limit {limit})")
    return worst[0][0] <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with tests/golden/synthetic.json")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.check:
        raise SystemExit(0 if check(options.seed) else 1)
    seconds, _ = run_all(options.seed)
    for name, value in [*seconds.items(), ("total", sum(seconds.values()))]:
        print(f"{name:<18} {value:7.3f} s")


if __name__ == "__main__":
    main()
