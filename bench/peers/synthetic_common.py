"""What the numpy peers of the synthetic experiments have in common: the settings (those of experiments/*.json),
how they are timed, and how their results are checked. To be imported before numpy."""
import os

# One thread. Has to be set before numpy is loaded.
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
ETA = 0.01  # of least squares and the ablation
HUBER = 1.345
MOMENTS = (1.1, 1.5), 101, 10_000  # alphas, the largest n, trials
ABLATION = (0.1, 0.5, 1, 1.345, 2, 5, 10), (0.01, 0.1, 1, 10)  # mu and tau
HORIZONS = 10_000, 3000, 1000, 300, 100  # of the rates; the longest first
SMOOTH_HORIZONS = 30_000, 10_000, 3000, 1000, 300  # of the smooth problem, which has one dimension
ETA_SMOOTH = 0.0425  # of that; over sqrt(T)


def experiments(moments, toy, least_squares, huber_ablation, rates):
    """The synthetic experiments by name, each a function of the seed."""
    return {
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


def marks(steps):
    """The steps at which a curve is recorded."""
    return [0, *(k * 10 ** e for e in range(6) for k in range(1, 10) if k * 10 ** e <= steps)]


def cauchy_excess(x):
    """E|x - X| - E|X| for a Cauchy variable X."""
    return (2 * x * np.arctan(x) - np.log1p(x ** 2)) / np.pi


def run_all(experiments, seed):
    """{name: seconds}, {name: what its function returned}."""
    seconds, results = {}, {}
    for name, experiment in experiments.items():
        start = time.perf_counter()
        results[name] = experiment(seed)
        seconds[name] = time.perf_counter() - start
    return seconds, results


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


def moment_cells(golden, results):
    """(name, deviation in standard errors) of E|median|, where its variance is finite."""
    for alpha, stored in golden["exact"].items():
        for cell in stored:
            if cell["C_n"] != "inf":
                error = np.sqrt((cell["C_n"] - cell["E_abs"] ** 2) / MOMENTS[2])
                measured = results["moments"][float(alpha)][0, 0, cell["n"] // 2]
                yield f"moments alpha={alpha} n={cell['n']}", (measured - cell["E_abs"]) / error


def check(experiments, seed, limit=4):
    def golden(name):
        folder = pathlib.Path(__file__).parents[2] / "tests" / "golden"
        return json.loads((folder / name).read_text())

    stored = golden("synthetic.json")
    names = ["moments", *stored["toy"], *stored["least_squares"], "huber-ablation"]
    _, results = run_all({name: experiments[name] for name in names}, seed)
    found = [(name, deviation(*rest)) for name, *rest in cells(stored, results)]
    found += moment_cells(golden("moments.json"), results)
    name, worst = max(found, key=lambda pair: abs(pair[1]))
    print(f"{len(found)} cells, worst: {name}, {abs(worst):.2f} standard errors (limit {limit})")
    return abs(worst) <= limit


def main(description, experiments):
    """The command line of a peer: `experiments` are functions of a seed by name."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with tests/golden")
    parser.add_argument("--json", action="store_true", help="print the seconds as JSON")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.check:
        raise SystemExit(0 if check(experiments, options.seed) else 1)
    seconds, _ = run_all(experiments, options.seed)
    if options.json:
        print(json.dumps(seconds))
        return
    for name, value in [*seconds.items(), ("total", sum(seconds.values()))]:
        print(f"{name:<18} {value:7.3f} s")
