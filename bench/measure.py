"""What all sections of the benchmark share: running programs, and ratios from turns."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time


def run(binary, *arguments):
    """The JSON lines that a program prints."""
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, done.args))} failed: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def others_seconds():
    """What all other programs of the machine have had of its processors so far, in seconds (0 where the system does not tell)."""
    try:
        ticks = list(map(int, pathlib.Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]))
    except OSError:
        return 0
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def ratio_of_turns(ours, theirs):
    """How many times as long the peer takes: the median over the turns, so that one disturbed turn does not decide."""
    return statistics.median(their / our for our, their in zip(ours, theirs))


def could_not_be_had(what, who):
    """The row of a peer that is not installed."""
    return {"what": what, "ours": "", "peer": f"could not be had ({who})", "ratio": None, "target": None}
