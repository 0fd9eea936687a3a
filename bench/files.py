"""A gigabyte of CSV and of NPY through the command: speed, and the peak of memory."""
import json
import os
import subprocess
import sys
import time

import numpy as np

CSV_AIM = 500e6  # bytes per second and core


def make_csv(path, size, columns=1000):
    """Doubles with all their digits; the same few rows over and over, as making them takes longer than reading."""
    rows = np.random.default_rng(1).standard_t(3, (200, columns))
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()
    with open(path, "wb") as file:
        for _ in range(max(1, size // len(text))):
            file.write(text)
    return os.path.getsize(path)


def make_npy(path, size, columns=10_000):
    rows = np.random.default_rng(2).standard_normal((100, columns))
    count = max(1, size // rows.nbytes)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (100 * count, columns)})
        for _ in range(count):
            rows.tofile(file)
    return os.path.getsize(path)


# Started by a small Python of its own: a process counts the memory of the one that started it as its own.
RUNNER = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss]))
"""


def timed(*command):
    """Seconds of processor, which others on the machine hardly change, and the peak of memory in bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", RUNNER, *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def read_through(path, buffer=bytearray(1 << 20)):
    """Seconds of processor for reading a file from the disk cache into one buffer of a mebibyte."""
    start = time.process_time()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.process_time() - start


def loadtxt_speed(folder):
    """Bytes per second of numpy's reader."""
    size = make_csv(folder / "small.csv", 20_000_000)
    start = time.process_time()
    np.loadtxt(folder / "small.csv", delimiter=",")
    return size / (time.process_time() - start)


def files(command, folder, size, rounds):
    """estimate and aggregate on one thread. Of CSV the aim is 500 MB/s of processor time, of NPY the speed of reading the file."""
    csv, npy = folder / "rows.csv", folder / "rows.npy"
    csv_size, npy_size = make_csv(csv, size), make_npy(npy, size)
    loadtxt = loadtxt_speed(folder)
    for what in ("estimate vclip", "aggregate mean"):
        runs = [timed(command, *what.split(), "--threads", 1, "--quiet", csv) for _ in range(rounds)]
        cpu, memory = min(r[0] for r in runs), max(r[1] for r in runs)
        row = {"what": f"{what}, {csv_size / 1e9:.2g} GB of CSV", "ours": f"{csv_size / cpu / 1e6:.0f} MB/s",
               "operation": f"{what}, CSV", "axis": "bytes of the file", "size": size, "seconds": cpu, "bytes": memory}
        yield {**row, "peer": f"{CSV_AIM / 1e6:.0f} MB/s (limit)", "ratio": csv_size / cpu / CSV_AIM, "target": 1}
        yield {**row, "peer": f"{loadtxt / 1e6:.0f} MB/s (np.loadtxt)", "ratio": csv_size / cpu / loadtxt, "target": 5}
        yield memory_row(row["what"], memory, csv_size, what)
    for what in ("estimate vclip", "aggregate mean"):
        ours, reads, ratios, memory = [], [], [], 0
        for _ in range(max(3, rounds)):
            own, peak = timed(command, *what.split(), "--threads", 1, "--quiet", npy)
            ours.append(own)
            reads.append(read_through(npy))
            ratios.append(reads[-1] / own)
            memory = max(memory, peak)
        yield {"what": f"{what}, {npy_size / 1e9:.2g} GB of NPY", "ours": f"{npy_size / np.median(ours) / 1e9:.2f} GB/s",
               "peer": f"{npy_size / np.median(reads) / 1e9:.2f} GB/s (reading)", "ratio": float(np.median(ratios)), "target": 1,
               "operation": f"{what}, NPY", "axis": "bytes of the file", "size": size, "seconds": float(np.median(ours)), "bytes": memory}
        yield memory_row(f"{what}, {npy_size / 1e9:.2g} GB of NPY", memory, npy_size, what)


def memory_row(what, peak, size, command):
    """estimate works in constant memory; aggregate may hold the rows, and maps what is NPY."""
    limit = 64e6 if command.startswith("estimate") else 1.1 * size
    return {"what": f"{what}, memory", "ours": f"{peak / 1e6:.0f} MB", "peer": f"{limit / 1e6:.0f} MB (limit)", "ratio": limit / peak,
            "target": 1}
