#!/usr/bin/python3
"""Measures medgrad against a physical limit or a peer, in the same session and in turns.

Prints one table (what, ours, peer, ratio, target, ok) and writes build/bench.json. A missed target is
reported, not an error: only something that could not be run makes the exit code 1, and, with --check, a ratio below its floor.
"""
import os

# One thread on both sides, except for whole runs of `medgrad reproduce` and for training. Has to be set before numpy
# is loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
for variable in THREADS:
    os.environ[variable] = "1"

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import steps
import table
from files import files
from peers import stable
from peers.sample import Weiszfeld, column_median, objective, weiszfeld
from start import starting

FLOORS = pathlib.Path(__file__).parent / "floors.json"
TYPES = {"float": np.float32, "double": np.float64}


def run(binary, *arguments):
    """The JSON lines that medgrad_bench prints."""
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, done.args))} failed: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def make_rows(n, d, dtype):
    """Noisy gradients: a common vector, heavy-tailed noise whose size differs from row to row, and two
    rows that point elsewhere."""
    random = np.random.default_rng(1)
    scale = np.abs(random.standard_cauchy(n)) + 0.5
    rows = random.standard_normal(d) + scale[:, None] * random.standard_t(2, (n, d))
    rows[:2] += 10
    return np.ascontiguousarray(rows, dtype=dtype)


def sample(binary, folder, method, n, d, name, tolerance, target, rounds):
    """A sample estimator against its numpy peers, in turns."""
    rows = make_rows(n, d, TYPES[name])
    rows.tofile(folder / "rows")

    def ours():
        # Twenty turns of ours take no longer than one of the peers'.
        return run(binary, "sample", name, method, tolerance, folder / "rows", n, d, 20, folder / "out")[0]

    info = ours()
    estimate = np.fromfile(folder / "out", TYPES[name])
    if method == "median":
        if not np.array_equal(estimate, column_median(rows)):
            sys.exit("The column median differs from numpy's.")
        peers = [("np.median", lambda: column_median(rows), target)]
    else:
        # How many iterations the peer needs for the gap we ask of ourselves is found beforehand, so that
        # its time has nothing in it but iterations.
        tuned = Weiszfeld(rows)
        best = objective(rows, estimate)
        k = next((k for k, m in enumerate(tuned.iterates(100))
                  if objective(rows, m) <= best * (1 + tolerance)), None)
        if k is None:
            sys.exit(f"Weiszfeld's iteration did not come within {tolerance:g} of our objective.")
        peers = [(f"Weiszfeld, {k} iterations", lambda: weiszfeld(rows, k), target),
                 ("the same, tuned", lambda: tuned.run(k), None)]
    mine, theirs = [info["seconds"]], [[] for _ in peers]
    for _ in range(rounds):
        for times, (_, peer, _) in zip(theirs, peers):
            times.append(seconds(peer)[0])
        mine.append(ours()["seconds"])
    for times, (note, _, wanted) in zip(theirs, peers):
        yield {
            "what": f"{method}, {n} x {d / 1e6:g} M {name}s" + (f", gap {tolerance:g}" if tolerance else ""),
            "ours": f"{min(mine) * 1e3:.2f} ms",
            "peer": f"{min(times) * 1e3:.0f} ms ({note})",
            "ratio": min(times) / min(mine),
            "target": wanted,
            "detail": info,
        }


# How many times a plain pass over the rows a column median may take; between the sizes that have an aim, that of the next.
MEDIAN_LIMITS = {4: 1.5, 8: 1.5, 16: 1.5, 17: 3, 24: 3, 32: 3, 48: 3, 64: 3, 65: 5, 96: 5, 128: 5, 129: 10, 192: 10, 256: 10, 257: 20,
                 512: 20, 1000: 20}
BY_COLUMN = ("mean", "median", "trimmed mean", "meamed")
WITH_AIM = ("geometric median", "huber location", "krum", "multi-krum", "caf", "nnm+krum", "nnm+caf")
WITHOUT_AIM = ("centered clipping", "nnm+geometric median", "nnm+median")


def growth(binary, rounds, entries, where, python, sizes=tuple(MEDIAN_LIMITS)):
    """Sample estimators of few to many rows with the same number of entries, against a plain pass that adds up the
    rows; rules on whole rows against the Gram matrix and the median. One thread is measured by its processor time, which
    others on the machine hardly change; two by the clock on the wall, which means something on an idle machine only.
    Beside it the limit of networks: as many minima and maxima in registers as they have; and other libraries."""
    rates = run(binary, "fused", "double", 5)[0]
    for n in sizes:
        d, limit = entries // n, MEDIAN_LIMITS[n]
        lines = run(binary, "rows", "float", n, d, rounds if n < 200 or entries < 1 << 20 else max(3, rounds // 3))
        ms = {line["what"]: line["ms"] for line in lines}
        wall = {line["what"]: line["wall_ms"] for line in lines}
        size = f"{n} x {d} floats{where}"

        def row(what, ours, peer, name, target):
            return {"what": f"{what}, {size}", "ours": f"{ours:.4g} ms", "peer": f"{peer:.4g} ms ({name})",
                    "ratio": peer / ours, "target": target, "n": n, "d": d, "name": what, "ms": ours, "peer_ms": peer}

        plain, network = ms["plain"], lines[0]["operations"]
        yield row("mean", ms["mean"], plain, "adding up", 1 / 1.2)
        yield row("mean", ms["mean"], ms["plain in double"], "adding up in double", None)
        yield row("median", ms["median"], plain, "adding up", 1 / limit)
        if network:
            bound = network * d / rates["minmax_gops"] * 1e-6
            yield row("median", ms["median"], bound, f"{network} minima and maxima", None)
        for what in ("trimmed mean", "meamed"):
            yield row(what, ms[what], ms["median"], "median", 1 / 1.5)
        speed = n * (n + 1) * d / ms["gram"] * 1e-6
        yield {"what": f"Gram matrix, {size}", "ours": f"{speed:.1f} GF/s", "peer": f"{rates['gflops']:.1f} GF/s (fused)",
               "ratio": speed / rates["gflops"], "target": 0.5, "n": n, "d": d, "name": "Gram matrix", "ms": ms["gram"]}
        for what in WITH_AIM + WITHOUT_AIM:
            yield row(what, ms[what], ms["gram"] + ms["median"], "Gram, median", 1 / 1.2 if what in WITH_AIM else None)
        for what in BY_COLUMN + WITH_AIM + WITHOUT_AIM if entries > 1 << 20 else ():
            yield row(f"{what}, 2 threads", wall[f"{what}, 2 threads"], wall[what], "one", 1.6)
        for other in () if python in (None, "none") else run(python, pathlib.Path(__file__).parent / "peers" / "rules.py", n, d, 0.1):
            yield row(other["what"], ms[other["what"]], other["ms"], other["library"], 1)


# Lengths of rows, most of them odd.
LENGTHS = (1, 3, 11, 33, 101, 333, 1001, 3333, 10_001, 33_333, 100_001, 333_333, 1_000_001, 3_333_333, 10_000_000)


def lengths(binary, rounds, n=11, sizes=LENGTHS):
    """The same estimators of a few rows that become longer, against a plain pass that adds up the rows."""
    for d in sizes:
        for line in run(binary, "rows", "float", n, d, rounds if d < 1_000_000 else 2):
            if line["what"] in BY_COLUMN + WITH_AIM + WITHOUT_AIM:
                yield {"what": f"{line['what']}, {n} x {d} floats, by length", "ours": f"{line['ms']:.4g} ms", "peer": "",
                       "ratio": 1, "target": None, "n": n, "d": d, "name": line["what"], "ms": line["ms"]}


def stable_samples(binary, alpha, beta, rounds, n=1 << 20):
    """Samples of a stable law against scipy and numpy, and float against double, in turns."""
    def ours(name):
        return run(binary, "stable-samples", name, alpha, beta, n // 4, 10)[0]["ns"]

    peers = stable.samplers(alpha, beta, n)
    mine, single, theirs = [], [], [[] for _ in peers]
    for _ in range(rounds):
        mine.append(ours("double"))
        single.append(ours("float"))
        for times, (_, peer) in zip(theirs, peers):
            times.append(seconds(peer)[0] / n * 1e9)
    what = f"stable samples, alpha {alpha:g}, beta {beta:g}"
    rows = [(f"{what}, doubles", min(mine), min(times), name, target)
            for times, (name, _), target in zip(theirs, peers, (12, 4, None))]
    rows.append((f"{what}, floats", min(single), min(mine), "our doubles", 2))
    for label, own, peer, name, target in rows:
        yield {"what": label, "ours": f"{own:.1f} ns", "peer": f"{peer:.1f} ns ({name})",
               "ratio": peer / own, "target": target}


def stable_functions(binary, alpha, beta, rounds):
    """Density and probability of a stable law per point, against scipy's, in turns."""
    n, peers = stable.functions(alpha, beta)
    mine, theirs = [], {name: [] for name in peers}
    for _ in range(rounds):
        mine.append(run(binary, "stable-functions", "double", alpha, beta, 10_000, 1)[0])
        for name, peer in peers.items():
            theirs[name].append(seconds(peer)[0] / n * 1e9)
    for name, times in theirs.items():
        own = min(m[name] for m in mine)
        yield {"what": f"stable {name}, alpha {alpha:g}, beta {beta:g}", "ours": f"{own / 1e3:.2f} us",
               "peer": f"{min(times) / 1e3:.0f} us (scipy)", "ratio": min(times) / own, "target": 50}


def stable_table(binary, alpha, beta):
    """A density of 1e-10 from a table, in the body and in the tails, against the 100 ns it may take; and the table itself."""
    mine = run(binary, "stable-table", "double", alpha, beta, 20_000, 5)[0]
    law = f"alpha {alpha:g}, beta {beta:g}"
    for part, where in (("table", ""), ("tails", " in the tails")):
        yield {"what": f"stable pdf from a table{where}, {law}", "ours": f"{mine[part]:.0f} ns",
               "peer": f"{mine['integral']:.0f} ns (integral)", "ratio": mine["integral"] / mine[part], "target": 1}
        yield {"what": f"stable pdf from a table{where}, {law}", "ours": f"{mine[part]:.0f} ns", "peer": "100 ns (aim)",
               "ratio": 100 / mine[part], "target": 1}
    yield {"what": f"building that table, {law}", "ours": f"{mine['build_ms']:.1f} ms", "peer": "10 ms (aim)",
           "ratio": 10 / mine["build_ms"], "target": 1}


def torch_steps(binary, n, rounds, tensors=(1, 400)):
    """A step of our libtorch optimisers against torch's own, one thread; and many tensors against one."""
    best = {}
    for count in tensors:
        for line in run(binary, n, count, rounds):
            best[line["what"], count] = line["best_ms"]
    pairs = [("cclip", "sgd momentum", 1.3), ("vclip", "sgd momentum", 1.0),
             ("vclip", "clip_grad_norm_, sgd momentum", 1.4), ("vclip", "vclip in torch operations", 1.5),
             ("median-adam", "adam", None)]
    for count in tensors:
        for ours, peer, target in pairs:
            own, other = best[ours, count], best[peer, count]
            yield {"what": f"torch {ours}, {n / 1e6:g} M floats in {count} tensor{'s' * (count > 1)}",
                   "ours": f"{own:.1f} ms", "peer": f"{other:.1f} ms ({peer})", "ratio": other / own,
                   "target": target}
    one, many = tensors
    for ours in ("cclip", "vclip"):
        own, other = best[ours, many], best[ours, one]
        yield {"what": f"torch {ours}, {many} tensors instead of one", "ours": f"{own:.1f} ms",
               "peer": f"{other:.1f} ms (one tensor)", "ratio": other / own, "target": 1 / 1.05}


def python_package(build, folder, n, d, rounds):
    """The Python package against C++ on the same data, one thread, in turns; and what a call costs."""
    script = pathlib.Path(__file__).parent / "peers" / "python_steps.py"
    os.environ["PYTHONPATH"] = str((build / "python").resolve())

    def ours(*arguments):
        return {line["what"]: line for line in run(sys.executable, script, *arguments)}

    rows = make_rows(5, d, np.float32)
    rows.tofile(folder / "rows")
    mine, theirs = [], []
    for _ in range(5):
        mine.append(ours("aggregate", folder / "rows", 5, d, 20)["median"]["seconds"])
        theirs.append(run(build / "bin/medgrad_bench", "sample", "float", "median", 0, folder / "rows", 5, d, 20,
                          folder / "out")[0]["seconds"])
    yield {"what": f"Python aggregate, median, 5 x {d / 1e6:g} M floats", "ours": f"{min(mine) * 1e3:.2f} ms",
           "peer": f"{min(theirs) * 1e3:.2f} ms (C++)", "ratio": min(theirs) / min(mine), "target": 0.95}
    torch_binary = build / "bin/medgrad_torch_bench"
    if torch_binary.exists() and importlib.util.find_spec("torch") is not None:
        for size, tensors, target in ((n, 1, 0.95), (400 * 2000, 400, 1 / 1.5)):
            mine, theirs = [], []
            for _ in range(3):
                mine.append(ours("steps", size, tensors, rounds))
                theirs.append({line["what"]: line for line in run(torch_binary, size, tensors, rounds)})
            for name in ("cclip", "vclip", "median-adam"):
                own, peer = (min(x[name]["best_ms"] for x in turns) for turns in (mine, theirs))
                yield {"what": f"Python {name} step, {size / 1e6:g} M floats in {tensors} tensor{'s' * (tensors > 1)}",
                       "ours": f"{own:.3f} ms", "peer": f"{peer:.3f} ms (C++)", "ratio": peer / own, "target": target}
    else:
        print("python: optimisers left out, they need libtorch and PyTorch (libtorch-dev, python3-torch)", file=sys.stderr)
    found = ours("calls")
    for name, what in (("aggregate", "Python aggregate, 5 x 10"), ("update", "Python Estimator.update, 10")):
        yield {"what": what, "ours": f"{found[name]['us']:.2f} us", "peer": "3 us (limit)", "ratio": 3 / found[name]["us"],
               "target": 1}
    yield {"what": "import medgrad, after numpy", "ours": f"{found['import']['s'] * 1e3:.0f} ms", "peer": "150 ms (limit)",
           "ratio": 0.15 / found["import"]["s"], "target": 1}


def workers(binary, rounds, d=5_000_000, n=4):
    """Rules over the vectors of n processes against the engine's own all-reduce of the same vector, in turns."""
    reduce, *rules = run(binary, d, n, rounds)
    for line in rules:
        yield {"what": f"{line['what']}, {d / 1e6:g} M floats over {n} workers", "ours": f"{line['ms']:.1f} ms",
               "peer": f"{reduce['ms']:.1f} ms (all-reduce)", "ratio": 1 / line["ratio"],
               "target": 0.5 if line["what"] in ("median", "geometric-median") else None}
    for line in rules:
        if "report" not in line["what"]:
            yield {"what": f"{line['what']}, {line['waiting']:.0f} ms of it waiting", "ours": f"{line['median']:.1f} ms",
                   "peer": f"{line['in_turn']:.1f} ms (nothing overlaps)", "ratio": line["in_turn"] / line["median"], "target": None}


def training_workers(binary, folder, rounds=3, n=4, steps=14):
    """The time of a step of n workers that train an encoder transformer of 1.3 million weights together, by robust rules against the
    plain average of the same engine, in turns."""
    rules = ["mean", "median", "nnm+median:f=1", "geometric-median"]
    found = {rule: [] for rule in rules}
    for k in range(rounds):
        for rule in rules:
            run_folder = folder / f"{rule.replace(':', '-')}-{k}"
            subprocess.run([binary, "launch", "-n", str(n), "--logs", folder / "logs", "--", "train", "synthetic", "--size", "paper",
                            "--batch", "16", "--method", "sgd-m", "--lr", "0.1", "--threads", "1", "--steps", str(steps), "--log-every", "1",
                            "--evaluation-limit", "1", "--aggregate", rule, "--out", run_folder], check=True, capture_output=True)
            lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
            at = [line["seconds"] for line in lines if line["event"] == "step"]
            found[rule].append(float(np.median(np.diff(at[2:]))))
    mean = float(np.median(found["mean"]))
    for rule in rules[1:]:
        mine = float(np.median(found[rule]))
        yield {"what": f"a training step of {n} workers, {rule}", "ours": f"{1e3 * mine:.0f} ms", "peer": f"{1e3 * mean:.0f} ms (mean)",
               "ratio": mean / mine, "target": 0.91}


# Those of the paper; `medgrad reproduce` without names also runs what the peers have not.
SYNTHETIC = ("moments", "toy", "toy-small-tau", "toy-skewed", "toy-long", "least-squares-s1", "least-squares-s2", "least-squares-s3",
             "huber-ablation", "rates", "projection")


def reproduce(binary, folder, rounds=5, limit=2.0):
    """All synthetic experiments of the paper, with report and figures and on all cores, against the plain and the tuned
    peer, which only compute, each in a process of its own on one thread. In turns."""
    peers = pathlib.Path(__file__).parent / "peers"
    names = {"synthetic_plain.py": "numpy", "synthetic.py": "numpy, tuned"}
    turns = ["synthetic_plain.py", "synthetic.py", "synthetic.py"]

    def ours():
        return seconds(run, binary, "reproduce", *SYNTHETIC, "--out", folder / "results", "--quiet")[0]

    mine, theirs = [ours()], {script: [] for script in names}
    for script in turns:
        # By the peer's own clock: without starting Python and loading numpy.
        theirs[script].append(run(sys.executable, peers / script, "--json")[0])
        mine.append(ours())
    mine += [ours() for _ in range(rounds - len(mine))]
    rows = [(limit, f"{limit:g} s (limit)", 1, None)]
    for (script, name), target in zip(names.items(), (10, None)):
        best = min(theirs[script], key=lambda parts: sum(parts.values()))
        rows.append((sum(best.values()), f"{sum(best.values()):.1f} s ({name})", target, best))
    for peer, shown, target, detail in rows:
        yield {"what": "all synthetic experiments of the paper", "ours": f"{min(mine):.2f} s", "peer": shown,
               "ratio": peer / min(mine), "target": target, "detail": detail}


def products_per_token(task):
    """Multiplications of the matrix products of a model, forward: weights, logits, and attention over all tokens of the line."""
    width, hidden, layers, length, vocabulary, relative = {"ptb": (200, 200, 2, 35, 10000, 0),
                                                           "wikitext2": (512, 2048, 6, 128, 33278, 1)}[task]
    return layers * (4 * width**2 + 2 * width * hidden + (2 + relative) * length * width) + width * vocabulary


def language(binary, plain, task, batch, steps, target, rounds=3):
    """Training steps of a language model against the same model in PyTorch, on all cores, in turns: speed, the peak of
    memory, and the optimiser's part of a step; and the share of the peak of fused operations that its products alone come to."""
    peer = pathlib.Path(__file__).parent / "peers" / "language.py"
    threads = os.cpu_count()
    size = ("--task", task, "--batch", batch, "--steps", steps, "--threads", threads)
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(run(binary, *size)[0])
        theirs.append(run(sys.executable, peer, *size, "--kernels", mine[-1]["kernels"])[0])
    fastest, their_fastest = (max(r["tokens_per_second"] for r in x) for x in (mine, theirs))
    least, their_least = (min(r["peak_rss_bytes"] for r in x) / 2**30 for x in (mine, theirs))
    what = f"training, {task}, batch {batch}"
    yield {"what": what, "ours": f"{fastest:.0f} /s", "peer": f"{their_fastest:.0f} tokens/s (PyTorch)",
           "ratio": fastest / their_fastest, "target": target, "detail": [mine, theirs]}
    # Gradients take twice the products of the loss; a multiplication and an addition are two operations, and twice as many floats as
    # doubles fit into a register.
    speed = 6 * products_per_token(task) * fastest * 1e-9
    peak = 2 * run(plain, "fused", "double", 5)[0]["gflops"] * threads
    yield {"what": what + ", products", "ours": f"{speed:.0f} GF/s", "peer": f"{peak:.0f} GF/s (FMA peak)", "ratio": speed / peak,
           "target": None}
    yield {"what": what + ", memory", "ours": f"{least:.2f} GiB", "peer": f"{their_least:.2f} GiB (PyTorch)",
           "ratio": their_least / least, "target": 1 / 0.6}
    optimizer, step = max(((r["optimizer_ms"], r["step_ms"]) for r in mine), key=lambda r: r[0] / r[1])
    yield {"what": what + ", optimiser", "ours": f"{optimizer:.2f} ms", "peer": f"{step:.0f} ms (our step)",
           "ratio": step / optimizer, "target": 1 / 0.03}


def sections(options):
    """What can be asked for by name, and what yields its rows."""
    programs = options.build / "bin"
    binary = programs / "medgrad_bench"

    def samples():
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            # 1e-10 is our default. In float the peer stalls at 1.2e-10 on these rows, so both are asked for 1e-9.
            for name, tolerance in (("float", 1e-9), ("double", 1e-10)):
                yield from sample(binary, folder, "median", 5, options.d, name, 0, 50, 5)
                yield from sample(binary, folder, "geometric-median", 11, options.d, name, tolerance, 20, 5)

    def sizes():
        wanted = options.rows or tuple(MEDIAN_LIMITS)
        yield from growth(binary, options.rounds, 1 << 22, "", options.peers, wanted)
        yield from growth(binary, options.rounds, 1 << 16, " in the cache", options.peers, wanted)

    def long_rows():
        yield from lengths(binary, options.rounds)

    def laws():
        for alpha, beta in ((1.1, 0), (1.5, 0.5)):
            yield from stable_samples(binary, alpha, beta, 5)
        for alpha, beta in ((0.7, 0.5), (0.9, 0), (1.1, 0), (1.5, 0.5), (1.9, 0)):
            yield from stable_functions(binary, alpha, beta, 3)
        for alpha, beta in ((0.5, 0.7), (0.99, 0.5), (1.5, 0), (1.95, -1)):
            yield from stable_table(binary, alpha, beta)

    def experiments():
        with tempfile.TemporaryDirectory() as temporary:
            yield from reproduce(programs / "medgrad", pathlib.Path(temporary))

    def optimisers():
        torch_binary = programs / "medgrad_torch_bench"
        if not torch_binary.exists():
            print("torch: not part of this build, nothing to measure.", file=sys.stderr)
            return
        yield from torch_steps(torch_binary, options.n, options.rounds)

    def package():
        if not (options.build / "python/medgrad").is_dir():
            print("python: not part of this build, nothing to measure.", file=sys.stderr)
            return
        with tempfile.TemporaryDirectory() as temporary:
            yield from python_package(options.build, pathlib.Path(temporary), options.n, options.d, options.rounds)

    def ranks():
        program = programs / "medgrad_workers_bench"
        if not program.exists():
            print("workers: not part of this build, nothing to measure.", file=sys.stderr)
            return
        yield from workers(program, options.rounds)
        with tempfile.TemporaryDirectory() as temporary:
            yield from training_workers(programs / "medgrad", pathlib.Path(temporary))

    def models():
        trainer = programs / "medgrad_language_bench"
        if not trainer.exists() or importlib.util.find_spec("torch") is None:
            print("language: left out, it needs libtorch and PyTorch (libtorch-dev, python3-torch)")
            return
        for variable in THREADS:
            os.environ.pop(variable)
        yield from language(trainer, binary, "ptb", 256, 5, 1.15)
        yield from language(trainer, binary, "wikitext2", 20, 2, 1.15)

    def rows_in_files(size, rounds):
        with tempfile.TemporaryDirectory(dir=options.build) as temporary:
            yield from files(programs / "medgrad", pathlib.Path(temporary), size, rounds)

    everything = {"online": lambda: steps.all_steps(run, binary, options.n, options.rounds), "sample": samples, "growth": sizes,
                  "lengths": long_rows, "stable": laws, "files": lambda: rows_in_files(1_000_000_000, 3),
                  "start": lambda: starting(options.build, 20), "reproduce": experiments, "torch": optimisers, "python": package,
                  "workers": ranks, "language": models}
    if not options.quick:
        return everything

    def few_laws():
        yield from stable_samples(binary, 1.5, 0.5, 3)
        yield from stable_functions(binary, 1.5, 0.5, 1)

    # What a change can make slower without anybody noticing, in two minutes.
    return {"online": lambda: steps.measured(run, binary, "float", "ordinary", options.n, 7), "sample": samples,
            "files": lambda: rows_in_files(100_000_000, 3),
            "growth": lambda: growth(binary, 5, 1 << 22, "", None, (4, 16, 64, 256, 1000)), "stable": few_laws,
            "torch": optimisers}


def key_of(row):
    """What a row is called in bench/floors.json: what was measured and against whom."""
    return f"{row['what']} / {row['peer'].split('(')[-1].rstrip(')')}"


def check(results, known, floors):
    """Measures sections again, twice at most, that have a row below its floor, as a busy machine must not decide: the best ratio
    of a row counts. Prints what stays below; returns how many."""
    floor, margin = floors["ratios"], floors["margin"]

    def low(rows):
        return [r for r in rows if key_of(r) in floor and r["ratio"] < floor[key_of(r)] * (1 - margin)]

    for _ in range(2):
        for section in sorted({r["section"] for r in low(results)}):
            again = {key_of(r): r["ratio"] for r in known[section]()}
            for row in results:
                row["ratio"] = max(row["ratio"], again.get(key_of(row), 0))
    for row in low(results):
        print(f"SLOWER  {key_of(row)}: {row['ratio']:.3g} where bench/floors.json keeps {floor[key_of(row)]:.3g}")
    return len(low(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", nargs="*", help="online, sample, growth, lengths, stable, files, start, reproduce, torch, python, workers, language (default: all)")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=15, help="turns of the online steps")
    parser.add_argument("--n", type=int, default=20_000_000, help="length of the online steps' vectors")
    parser.add_argument("--d", type=int, default=1_000_000, help="length of the sample estimators' rows")
    parser.add_argument("--quick", action="store_true", help="the most telling rows, in two minutes")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is below its floor in bench/floors.json")
    parser.add_argument("--update", action="store_true", help="keep the ratios of this run as floors")
    parser.add_argument("--write", action="store_true", help="put the tables of this run into docs/performance.md")
    parser.add_argument("--rows", type=lambda text: tuple(int(n) for n in text.split(",")),
                        help="numbers of rows for the section growth, as in 4,64,1000 (default: all)")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go (default: bench.json in the build folder)")
    parser.add_argument("--peers", default=sys.executable,
                        help="a Python that has other libraries (torch, byzfl from PyPI) for the section growth; none: no other library")
    options = parser.parse_args()
    known = sections(options)
    for name in options.section:
        if name not in known:
            parser.error(f"there is no section '{name}'; there are {', '.join(known)}")
    results = [{**row, "section": name} for name in known if name in (options.section or known) for row in known[name]()]

    print(f"{'what':<52} {'ours':>12} {'peer':>38} {'ratio':>8} {'target':>7}  ok")
    for r in results:
        r["ok"] = None if r["target"] is None else r["ratio"] >= r["target"]
        target, ok = (f"{r['target']:.2f}", "yes" if r["ok"] else "NO") if r["target"] else ("", "")
        print(f"{r['what']:<52} {r['ours']:>12} {r['peer']:>38} {r['ratio']:>8.2f} {target:>7}  {ok}")
    data = {"machine": {**table.machine_of(options.build), "numpy": np.__version__}, "results": results,
            "growth": table.exponents(results)}
    (options.out or options.build / "bench.json").write_text(json.dumps(data, indent=1))
    if options.write:
        written, homeless = table.write(data)
        print(f"Wrote {', '.join(written) or 'nothing'} into {table.DOCUMENT}" + (f"; no place for {', '.join(homeless)}." if homeless else "."))
    floors = json.loads(FLOORS.read_text(encoding="utf-8"))
    if options.update:
        floors["ratios"].update({key_of(r): float(f"{r['ratio']:.3g}") for r in results})
        FLOORS.write_text(json.dumps(floors, indent=1) + "\n", encoding="utf-8")
    return 1 if options.check and check(results, known, floors) else 0


if __name__ == "__main__":
    sys.exit(main())
