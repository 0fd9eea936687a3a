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
import json
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import experiments
import laws
import learning
import memory
import rules
import steps
import table
from files import files
from measure import others_seconds, run
from start import starting

FLOORS = pathlib.Path(__file__).parent / "floors.json"


def sections(options):
    """What can be asked for by name, and what yields its rows."""
    programs = options.build / "bin"
    binary = programs / "medgrad_bench"
    # Debian's Python, and one with what PyPI has, where it is wanted.
    pythons = [sys.executable, *([options.peers] if options.peers else [])]

    def with_folder(measured, where=None):
        with tempfile.TemporaryDirectory(dir=where) as temporary:
            yield from measured(pathlib.Path(temporary))

    def only_with(program, measured):
        if not (options.build / program).exists():
            print(f"{program} is not part of this build; it is left out.", file=sys.stderr)
            return
        yield from measured()

    def samples(folder):
        # 1e-10 is our default. In float the peer stalls at 1.2e-10 on these rows, so both are asked for 1e-9.
        for name, tolerance in (("float", 1e-9), ("double", 1e-10)):
            yield from rules.sample(binary, folder, "median", 5, options.d, name, 0, 50, 5)
            yield from rules.sample(binary, folder, "geometric-median", 11, options.d, name, tolerance, 20, 5)

    def growth():
        wanted = options.rows or rules.ROWS
        yield from rules.growth(binary, options.rounds, rules.of_entries(1 << 22, wanted), "", pythons, ", 4.2 M floats")
        yield from rules.growth(binary, options.rounds, rules.of_entries(1 << 16, wanted), " in the cache", pythons, ", 65,536 floats")
        if not options.rows:
            yield from rules.growth(binary, max(3, options.rounds // 3), rules.SHAPES, "", pythons)

    def stable():
        for alpha, beta in ((1.1, 0), (1.5, 0.5)):
            yield from laws.stable_samples(binary, pythons, alpha, beta, 5)
        for alpha, beta in ((0.7, 0.5), (0.9, 0), (1.1, 0), (1.5, 0.5), (1.9, 0)):
            yield from laws.stable_functions(binary, pythons, alpha, beta, 3)
        for alpha, beta in ((0.5, 0.7), (0.99, 0.5), (1.5, 0), (1.95, -1)):
            yield from laws.stable_table(binary, alpha, beta)
        yield from laws.stable_fit(binary, pythons, 1.5, 0.5, 10_000, 5, peer_n=300)
        yield from laws.stable_growth(binary, 1.5, 0.5)

    def workers():
        yield from learning.workers(programs / "medgrad_workers_bench", options.rounds)
        yield from with_folder(lambda folder: learning.training_workers(programs / "medgrad", folder))

    def models():
        for variable in THREADS:
            os.environ.pop(variable, None)
        # The same on the libtorch of PyPI, where it was built (./dev bench language --peers).
        others = [options.build / "pypi-torch/bin/medgrad_language_bench"] if options.peers else []
        binaries = [programs / "medgrad_language_bench", *(other for other in others if other.exists())]
        for task, batch, steps_of in (("ptb", 256, 5), ("wikitext2", 20, 2), ("squad", 8, 2)):
            for threads in sorted({1, os.cpu_count()}):
                yield from learning.language(binaries, binary, pythons, task, batch, steps_of, 1.15, threads)

    def rows_in_files(size):
        return with_folder(lambda folder: files(programs / "medgrad", folder, size, 3), options.build)

    def growing_files():
        yield from rows_in_files(10**9)
        for size in (10**7, 10**8):
            yield from ({**row, "grows": True} for row in rows_in_files(size) if "operation" in row)

    def optimisers():
        return only_with("bin/medgrad_torch_bench",
                         lambda: learning.torch_steps(programs / "medgrad_torch_bench", options.n, options.rounds))

    everything = {
        "online": lambda: steps.all_steps(run, binary, options.n, options.rounds),
        "sample": lambda: with_folder(samples),
        "growth": growth,
        "lengths": lambda: rules.lengths(binary, options.rounds),
        "memory": lambda: memory.memory(binary),
        "stable": stable,
        "files": growing_files,
        "start": lambda: starting(options.build, 20),
        "reproduce": lambda: with_folder(lambda folder: experiments.reproduce(programs / "medgrad", folder)),
        "torch": optimisers,
        "python": lambda: only_with("python/medgrad", lambda: with_folder(
            lambda folder: learning.python_package(options.build, folder, options.n, options.d, options.rounds))),
        "workers": lambda: only_with("bin/medgrad_workers_bench", workers),
        "language": lambda: only_with("bin/medgrad_language_bench", models),
    }
    if not options.quick:
        return everything

    def few_laws():
        yield from laws.stable_samples(binary, pythons[:1], 1.5, 0.5, 3)
        yield from laws.stable_functions(binary, pythons[:1], 1.5, 0.5, 1)

    # What a change can make slower without anybody noticing, in two minutes.
    return {"online": lambda: steps.measured(run, binary, "float", "ordinary", options.n, 7),
            "sample": everything["sample"],
            "files": lambda: rows_in_files(100_000_000),
            "growth": lambda: rules.growth(binary, 5, rules.of_entries(1 << 22, (4, 16, 64, 256, 1000))),
            "stable": few_laws, "torch": optimisers}


def key_of(row):
    """What a row is called in bench/floors.json: what was measured and against whom, whatever the version."""
    peer = re.sub(r" \d+\.[\w.]*$", "", row["peer"].split("(")[-1].rstrip(")"))
    return f"{row['what']} / {peer}"


# Where others have more of a processor than this while a section is measured, nothing is said against its rows.
OTHERS = 0.1


def rows_of(section, known):
    """What a section yields, and whether others were busy meanwhile."""
    start, before = time.monotonic(), others_seconds()
    rows = [{**row, "section": section} for row in known[section]()]
    busy = others_seconds() - before > OTHERS * (time.monotonic() - start)
    return [{**row, "busy": busy} for row in rows]


def check(results, known, floors):
    """Measures sections again, twice at most, that have a row below its floor, as a busy machine must not decide: the best ratio
    of a row counts, and none that was measured beside others every time. Prints what stays below, and what has no floor; returns how many."""
    floor, margin = floors["ratios"], floors["margin"]
    measured = [r for r in results if r["ratio"] is not None and not r.get("bare") and not r.get("grows")]
    unknown = [r for r in measured if key_of(r) not in floor]

    def low():
        return [r for r in measured if key_of(r) in floor and r["ratio"] < floor[key_of(r)] * (1 - margin)]

    for _ in range(2):
        for section in sorted({r["section"] for r in low()}):
            again = {key_of(r): r for r in rows_of(section, known) if r["ratio"] is not None}
            for row in measured:
                if (other := again.get(key_of(row))) is not None:
                    row["ratio"], row["busy"] = max(row["ratio"], other["ratio"]), row["busy"] and other["busy"]
    slower = [r for r in low() if not r["busy"]]
    for row in slower:
        print(f"SLOWER  {key_of(row)}: {row['ratio']:.3g} where bench/floors.json keeps {floor[key_of(row)]:.3g}")
    for row in unknown:
        print(f"NO FLOOR  {key_of(row)}: bench/run.py --quick --update keeps one")
    if busy := len(low()) - len(slower):
        print(f"NOT JUDGED  {busy} of {len(measured)} rows are below their floors, but others were using the processors all the time. "
              "Instructions do not depend on that: ./dev bench --check instructions")
    return len(slower) + len(unknown)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", nargs="*", help="online, sample, growth, lengths, memory, stable, files, start, reproduce, torch, python, workers, language (default: all)")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=15, help="turns of the online steps")
    parser.add_argument("--n", type=int, default=20_000_000, help="length of the online steps' vectors")
    parser.add_argument("--d", type=int, default=1_000_000, help="length of the sample estimators' rows")
    parser.add_argument("--quick", action="store_true", help="the most telling rows, in two minutes")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is below its floor in bench/floors.json")
    parser.add_argument("--update", action="store_true", help="keep the ratios of this run as floors")
    parser.add_argument("--lower", action="store_true", help="let floors fall to the ratios of this run, where these are lower: another machine")
    parser.add_argument("--write", action="store_true", help="put the tables of this run into docs/performance.md")
    parser.add_argument("--rows", type=lambda text: tuple(int(n) for n in text.split(",")),
                        help="numbers of rows for the section growth, as in 4,64,1000 (default: all)")
    parser.add_argument("--list", action="store_true", help="print the sections that would be measured, and measure nothing")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go (default: bench.json in the build folder)")
    parser.add_argument("--peers", metavar="PYTHON", help="measure against what this Python has as well: byzfl, PyTorch 2, the newest scipy")
    options = parser.parse_args()
    known = sections(options)
    for name in options.section:
        if name not in known:
            parser.error(f"there is no section '{name}'; there are {', '.join(known)}")
    wanted = [name for name in known if name in (options.section or known)]
    if options.list:
        print("\n".join(wanted))
        return 0
    results = [row for name in wanted for row in rows_of(name, known)]

    print(f"{'what':<52} {'ours':>12} {'peer':>38} {'ratio':>8} {'target':>7}  ok")
    for r in (r for r in results if not r.get("grows")):
        r["ok"] = None if r["target"] is None else r["ratio"] >= r["target"]
        target, ok = (f"{r['target']:.2f}", "yes" if r["ok"] else "NO") if r["target"] else ("", "")
        print(f"{r['what']:<52} {r['ours']:>12} {r['peer']:>38} {table.ratio_text(r):>8} {target:>7}  {ok}")
    data = {"machine": {**table.machine_of(options.build), "numpy": np.__version__}, "results": results,
            "growth": table.exponents(results) + table.exponents(results, "bytes")}
    (options.out or options.build / "bench.json").write_text(json.dumps(data, indent=1))
    if options.write:
        written, homeless = table.write(data)
        print(f"Wrote {', '.join(written) or 'nothing'} into {table.DOCUMENT}" + (f"; no place for {', '.join(homeless)}." if homeless else "."))
    floors = json.loads(FLOORS.read_text(encoding="utf-8"))
    if options.update or options.lower:
        now = {key_of(r): float(f"{r['ratio']:.3g}") for r in results if r["ratio"] is not None and not r.get("bare") and not r.get("grows")}
        floors["ratios"].update({key: min(ratio, floors["ratios"].get(key, ratio)) if options.lower else ratio for key, ratio in now.items()})
        FLOORS.write_text(json.dumps(floors, indent=1) + "\n", encoding="utf-8")
    return 1 if options.check and check(results, known, floors) else 0


if __name__ == "__main__":
    sys.exit(main())
