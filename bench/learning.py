"""Optimisers for libtorch, the Python package, workers, and training steps of language models, against PyTorch, C++ and all-reduce."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

from measure import ratio_of_turns, run
from rules import make_rows


def torch_steps(binary, n, rounds, tensors=(1, 400)):
    """A step of our libtorch optimisers against torch's own, one thread; and many tensors against one."""
    best = {}
    for count in tensors:
        for line in run(binary, n, count, rounds):
            best[line["what"], count] = line["best_ms"]
    pairs = [("cclip", "sgd momentum", 1.3), ("vclip", "sgd momentum", 1.0),
             ("vclip", "clip_grad_norm_, sgd momentum", 1.4), ("vclip", "vclip in torch operations", 1.5),
             ("vclip, each tensor by itself", "vclip", None), ("cclip in bfloat16", "cclip", None), ("vclip in bfloat16", "vclip", None), ("median-adam", "adam", None)]
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
    mine, theirs = {"new": [], "out": [], "plain": []}, []
    for _ in range(9):  # where the system puts the rows of a process makes a difference
        for name, line in ours("aggregate", folder / "rows", 5, d, 300).items():
            mine[name].append(line["seconds"])
        theirs.append(run(build / "bin/medgrad_bench", "sample", "float", "median", 0, folder / "rows", 5, d, 300,
                          folder / "out")[0]["seconds"])
    for name, how, target in (("new", "", 0.95), ("out", " with out=", 0.95), ("plain", ", rows where numpy puts them", None)):
        yield {"what": f"Python aggregate{how}, median, 5 x {d / 1e6:g} M floats", "ours": f"{min(mine[name]) * 1e3:.2f} ms",
               "peer": f"{min(theirs) * 1e3:.2f} ms (C++)", "ratio": ratio_of_turns(mine[name], theirs), "target": target}
    torch_binary = build / "bin/medgrad_torch_bench"
    if torch_binary.exists() and importlib.util.find_spec("torch") is not None:
        for size, tensors, target in ((n, 1, 0.95), (400 * 2000, 400, 1 / 1.5)):
            mine, theirs = [], []
            for _ in range(3):
                mine.append(ours("steps", size, tensors, rounds))
                theirs.append({line["what"]: line for line in run(torch_binary, size, tensors, rounds)})
            for name in ("cclip", "vclip", "median-adam"):
                own, peer = ([x[name]["best_ms"] for x in turns] for turns in (mine, theirs))
                yield {"what": f"Python {name} step, {size / 1e6:g} M floats in {tensors} tensor{'s' * (tensors > 1)}",
                       "ours": f"{min(own):.3f} ms", "peer": f"{min(peer):.3f} ms (C++)", "ratio": ratio_of_turns(own, peer),
                       "target": target}
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
    for rule in ("median", "geometric-median"):
        line = run(binary, "overlap", rule, d, n, 10)[0]
        yield {"what": f"{rule}, {n} threads, 10 Gbit/s (simulated, {line['network']:.0f} ms), {line['waiting']:.0f} ms of it waiting",
               "ours": f"{line['ms']:.1f} ms", "peer": f"{line['in_turn']:.1f} ms (nothing overlaps)",
               "ratio": line["in_turn"] / line["ms"], "target": None}


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


def products_per_token(task):
    """Multiplications of the matrix products of a model, forward: weights, logits, and attention over all tokens of the line."""
    width, hidden, layers, length, outputs, relative = {"ptb": (200, 200, 2, 35, 10000, 0), "wikitext2": (512, 2048, 6, 128, 33278, 1),
                                                        "squad": (768, 3072, 6, 256, 2, 0)}[task]
    return layers * (4 * width**2 + 2 * width * hidden + (2 + relative) * length * width) + width * outputs


def language(binaries, plain, pythons, task, batch, steps, target, threads, rounds=3):
    """Training steps of a language model against the same model in the PyTorch of each of these Pythons, in turns. The binaries are ours
    on different versions of libtorch; all but the first are set against their own version only. On all cores also the peak of memory, the
    optimiser's part of a step, and the share of the peak of fused operations that the model's products alone come to."""
    peer = pathlib.Path(__file__).parent / "peers" / "language.py"
    size = ("--task", task, "--batch", batch, "--steps", steps, "--threads", threads)
    mine, theirs = {binary: [] for binary in binaries}, {python: [] for python in pythons}
    for _ in range(rounds):
        for binary in binaries:
            mine[binary] += run(binary, *size)
        kernels = mine[binaries[0]][-1]["kernels"]  # of OpenBLAS; MKL chooses by itself
        for python in pythons:
            theirs[python] += run(python, peer, *size, "--kernels", kernels)
    for binary, own in mine.items():
        what = f"training, {task}, batch {batch}, {threads} thread{'s' * (threads > 1)}"
        speeds = [m["tokens_per_second"] for m in own]
        for turns in theirs.values():
            if binary != binaries[0] and own[0]["libtorch"] not in turns[0]["program"]:
                continue
            others = [t["tokens_per_second"] for t in turns]
            yield {"what": f"{what}, libtorch {own[0]['libtorch']}", "ours": f"{max(speeds):.0f} /s",
                   "peer": f"{max(others):.0f} tokens/s ({turns[0]['program']})", "ratio": ratio_of_turns(others, speeds),
                   "target": target, "detail": [own, turns]}
    own = mine[binaries[0]]
    if threads < os.cpu_count():
        return
    least = min(m["peak_rss_bytes"] for m in own) / 2**30
    for turns in theirs.values():
        their_least = min(t["peak_rss_bytes"] for t in turns) / 2**30
        yield {"what": what + ", memory", "ours": f"{least:.2f} GiB", "peer": f"{their_least:.2f} GiB ({turns[0]['program']})",
               "ratio": their_least / least, "target": 1 / 0.6}
    # Gradients take twice the products of the loss; a multiplication and an addition are two operations, and twice as many floats as
    # doubles fit into a register.
    speed = 6 * products_per_token(task) * max(m["tokens_per_second"] for m in own) * 1e-9
    peak = 2 * run(plain, "fused", "double", 5)[0]["gflops"] * threads
    yield {"what": what + ", products", "ours": f"{speed:.0f} GF/s", "peer": f"{peak:.0f} GF/s (FMA peak)", "ratio": speed / peak,
           "target": None}
    optimizer, step = max(((m["optimizer_ms"], m["step_ms"]) for m in own), key=lambda r: r[0] / r[1])
    yield {"what": what + ", optimiser", "ours": f"{optimizer:.2f} ms", "peer": f"{step:.0f} ms (our step)",
           "ratio": step / optimizer, "target": 1 / 0.03}
