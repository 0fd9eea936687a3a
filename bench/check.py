#!/usr/bin/python3
"""Does anything take more instructions than it did? Compares with bench/floors.json; exit code 1 and a sentence each where it is.

Instructions are counted by callgrind, per entry of the data, in code for AVX2, whatever the machine: the number is the same on a
busy one. Starting and making the data do not count. The margin is for other versions of the compiler and of the C library.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

FLOORS = pathlib.Path(__file__).parent / "floors.json"
COUNTED = "medgrad::bench::counted(*"  # in bench/count.cc


def per_entry(binary, row):
    """Instructions per entry of the data, as callgrind counts them."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={COUNTED}", str(binary), "count",
               *(str(row[key]) for key in ("type", "kind", "what", "rows", "columns"))]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MEDGRAD_SIMD": "AVX2"})
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None or counted[1] == "0":
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return int(counted[1]) / (row["rows"] * row["columns"])


def name_of(row):
    how = f" ({row['kind'].removesuffix(' step')})" if row["kind"].endswith(" step") else ""
    return f"{row['what']}{how}, {row['rows']} x {row['columns']} {row['type']}s"


def has_avx2():
    try:
        return " avx2 " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--program", default="medgrad_bench", help="what is measured, in the folder bin of the build")
    parser.add_argument("--floors", type=pathlib.Path, default=FLOORS)
    parser.add_argument("--update", action="store_true", help="keep what is counted now")
    options = parser.parse_args()
    if not has_avx2():
        print("Instructions are counted in code for AVX2, which this machine does not have: nothing is checked.")
        return 0
    floors = json.loads(options.floors.read_text(encoding="utf-8"))
    rows, margin = floors["instructions"], floors["margin"]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counted = list(pool.map(lambda row: per_entry(options.build / "bin" / options.program, row), rows))
    slower = 0
    print(f"{'instructions per entry':<48} {'now':>9} {'kept':>9}")
    for row, now in zip(rows, counted):
        kept = row.get("per_entry")
        bad = not options.update and (kept is None or now > kept * (1 + margin))
        slower += bad
        print(f"{name_of(row):<48} {now:>9.2f} {'' if kept is None else kept:>9}{'  SLOWER' if bad else ''}")
        if options.update:
            row["per_entry"] = round(now, 2)
    if options.update:
        options.floors.write_text(json.dumps(floors, indent=1) + "\n", encoding="utf-8")
    elif slower:
        print(f"{slower} of {len(rows)} take more than {margin:.0%} more instructions than bench/floors.json keeps. Where that is meant, "
              "run bench/check.py --update and commit the file.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
