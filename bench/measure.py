"""What all sections of the benchmark share: running programs, and ratios from turns."""
import json
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


def ratio_of_turns(ours, theirs):
    """How many times as long the peer takes: the median over the turns, so that one disturbed turn does not decide."""
    return statistics.median(their / our for our, their in zip(ours, theirs))


def could_not_be_had(what, who):
    """The row of a peer that is not installed."""
    return {"what": what, "ours": "", "peer": f"could not be had ({who})", "ratio": None, "target": None}
