"""medgrad reproduce and medgrad run, killed at any moment: they go on where they were, and result folders are whole
or not there.

Run by CTest as: interruptions_test.py MEDGRAD.
"""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest

from command import MEDGRAD, content, run
from experiments import SLOW, SMALL, ExperimentsTest, read_csv


def checksum(data):
    """src/base/checksum.h: words of eight bytes, a last one that is filled up with zeros, the length."""
    value = 0
    words = struct.unpack(f"<{len(data) // 8 + 1}Q", data + bytes(8 - len(data) % 8))
    for word in (*words, len(data)):
        value = (value ^ word) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
        value ^= value >> 32
    return struct.pack("<Q", value)


def read_journal(path):
    """(header, {task: numbers}) of a journal; records that are cut off left out."""
    try:
        data = content(path)
    except FileNotFoundError:
        return b"", {}
    match = re.match(rb"medgrad journal [^ ]+ ", data)
    if not match or len(data) < match.end() + 8:
        return b"", {}
    at, tasks = match.end() + 8, {}
    while len(data) - at >= 24:
        task, count = struct.unpack_from("<QQ", data, at)
        end = at + 16 + 8 * count
        if len(data) < end + 8:
            break
        assert data[end:end + 8] == checksum(data[at:end])
        tasks[task] = struct.unpack_from(f"<{count}d", data, at + 16)
        at = end + 8
    return data[:match.end() + 8], tasks


def journal_bytes(header, tasks):
    data = header
    for task, numbers in tasks.items():
        record = struct.pack("<QQ", task, len(numbers)) + struct.pack(f"<{len(numbers)}d", *numbers)
        data += record + checksum(record)
    return data


class Interruptions(ExperimentsTest):
    SEEDS = 10 if SLOW else 40

    def start(self, *arguments):
        return subprocess.Popen([MEDGRAD, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_when(self, process, ready):
        """kill -9 as soon as something is so; False where the process ended before."""
        while not ready():
            if process.poll() is not None:
                return False
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return process.returncode != 0

    def kill_after(self, process, seconds):
        begin = time.monotonic()
        return self.kill_when(process, lambda: time.monotonic() - begin >= seconds)

    def test_a_run_that_is_killed_goes_on_where_it_was(self):
        arguments = ("reproduce", "toy-long", "--seeds", self.SEEDS, "--no-svg", "--jobs", 2, "--replace", "--out")
        whole = self.path("whole")
        self.good(*arguments, whole, "--quiet")
        expected = self.bytes_of(whole, "toy-long")
        # An older result with another seed stays until the new one is there.
        self.good("reproduce", "toy-long", "--seeds", 1, "--seed", 5, "--no-svg", "--out", self.out)
        old = self.bytes_of(self.out, "toy-long")
        journal = os.path.join(self.out, ".unfinished", "toy-long")
        rng = random.Random(1)
        done = 0
        for _ in range(8):
            if self.kill_after(self.start(*arguments, self.out), rng.uniform(0, 0.9)):
                self.assertIn(self.bytes_of(self.out, "toy-long"), (old, expected))
            count = len(read_journal(journal)[1])
            if self.bytes_of(self.out, "toy-long") == expected:
                break
            self.assertGreaterEqual(count, done)
            done = count
        self.good(*arguments, self.out, "--quiet")
        self.assertEqual(self.bytes_of(self.out, "toy-long"), expected)
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "toy-long"])

    def test_finished_tasks_are_not_done_again(self):
        seeds = 4 * self.SEEDS  # more than half a second of work, after which tasks are written down
        arguments = ("reproduce", "toy-long", "--seeds", seeds, "--no-svg", "--jobs", 1, "--out")
        journal = os.path.join(self.out, ".unfinished", "toy-long")
        self.kill_when(self.start(*arguments, self.out), lambda: len(read_journal(journal)[1]) > 0)
        header, tasks = read_journal(journal)
        if not tasks:
            self.skipTest("this machine is done before it writes anything down")
        # Half of it, and no result, as a late signal may find all of them done. What stands in the journal counts: another
        # number there is another number in the results.
        shutil.rmtree(os.path.join(self.out, "toy-long"), ignore_errors=True)
        tasks = dict(sorted(tasks.items())[:(len(tasks) + 1) // 2])
        task = max(tasks)
        tasks[task] = (123.5, *tasks[task][1:])
        with open(journal, "wb") as file:
            file.write(journal_bytes(header, tasks))
        self.good(*arguments, self.out, "--quiet")
        self.good(*arguments, self.path("whole"), "--quiet")
        pairs = list(zip(read_csv(self.out, "toy-long", "results.csv"),
                         read_csv(self.path("whole"), "toy-long", "results.csv"), strict=True))
        different = [(a["value"], int(a["run"]), b["run"], a["step"]) for a, b in pairs if a != b]
        self.assertEqual(different, [("123.5", task % seeds, str(task % seeds), "0")])
        # Where the settings changed, it counts for nothing.
        os.makedirs(os.path.dirname(journal))
        with open(journal, "wb") as file:
            file.write(journal_bytes(header, tasks))
        self.good("reproduce", "toy-long", "--seeds", 2, "--no-svg", "--replace", "--out", self.out, "--quiet")
        self.assertNotIn(b"123.5", content(self.out, "toy-long", "results.csv"))
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "toy-long"])

    def test_ctrl_c_says_what_is_kept(self):
        arguments = ("reproduce", "projection", "toy-long", "--seeds", 10 * self.SEEDS, "--no-svg", "--jobs", 1, "--quiet",
                     "--out")
        journal = os.path.join(self.out, ".unfinished", "toy-long")
        process = subprocess.Popen([MEDGRAD, *map(str, arguments), self.out], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        while process.poll() is None and not read_journal(journal)[1]:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=300)
        if process.returncode == 0:
            self.skipTest("this machine is done before it writes anything down")
        self.assertEqual((process.returncode, output), (1, b""))
        said = re.fullmatch(r"medgrad: stopped; projection is finished and in \S+/out, of toy-long (\d+) of (\d+) parts are "
                            r"done, and the same command goes on from there\.\n", error.decode())
        self.assertTrue(said, error)
        self.assertEqual(int(said[1]), len(read_journal(journal)[1]))
        self.assertEqual(int(said[2]), 11 * 10 * self.SEEDS)
        self.assertEqual(sorted(os.listdir(self.out)), [".unfinished", "index.html", "projection"])
        self.check_folder(os.path.join(self.out, "projection"))

    def test_other_data_are_another_experiment(self):
        data = self.file("data.csv", "1,2\n2,3\n3,5\n")
        config = self.file("x.json", {**SMALL, "objective": {"name": "least-squares", "file": data}})
        self.good("run", config, "--no-svg", "--out", self.out)
        # A journal as a killed run would leave it, with a number that was never computed. It belongs
        # to the settings and the data.
        version = self.good("--version").split()[1]
        header = f"medgrad journal {version} ".encode() + checksum(content(self.out, "own", "config.json") + content(data))
        journal = os.path.join(self.out, ".unfinished", "own")
        for changed in (False, True):
            os.makedirs(os.path.dirname(journal))
            with open(journal, "wb") as file:
                file.write(journal_bytes(header, {0: [123.5] * 21}))
            if changed:
                self.file("data.csv", "1,2\n2,3\n3,50\n")
            self.good("run", config, "--no-svg", "--out", self.out)
            self.assertEqual(b"123.5" in content(self.out, "own", "results.csv"), not changed)
            self.assertFalse(os.path.exists(os.path.dirname(journal)))

    def test_killed_at_any_moment_a_folder_is_whole_or_not_there(self):
        config = self.file("x.json", SMALL)
        arguments = ("run", config, "--out")
        self.good(*arguments, self.path("whole"))
        begin = time.monotonic()
        self.good(*arguments, self.path("whole"))
        duration = time.monotonic() - begin
        expected = self.bytes_of(self.path("whole"), "own")
        figures = sorted(os.listdir(self.path("whole", "own")))
        rng = random.Random(2)
        killed = 0
        for i in range(30):
            drawn = ("--no-svg",) if i % 3 else ()
            killed += self.kill_after(self.start(*arguments, self.out, *drawn), rng.uniform(0, 1.1 * duration))
            if os.path.exists(os.path.join(self.out, "own")):
                self.assertEqual(self.bytes_of(self.out, "own"), expected)
                if i % 2:
                    shutil.rmtree(os.path.join(self.out, "own"))
        self.good(*arguments, self.out)
        self.assertEqual(self.bytes_of(self.out, "own"), expected)
        self.assertEqual(sorted(os.listdir(os.path.join(self.out, "own"))), figures)
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "own"])
        self.assertGreater(killed, 0)

    def test_two_at_once(self):
        config = self.file("x.json", {**SMALL, "seeds": 50})
        processes = [self.start("run", config, "--no-svg", "--out", self.out) for _ in range(4)]
        self.assertEqual([process.wait() for process in processes], [0] * 4)
        self.check_folder(os.path.join(self.out, "own"), runs=50)
        self.good("run", config, "--no-svg", "--out", self.path("alone"))
        self.assertEqual(self.bytes_of(self.out, "own"), self.bytes_of(self.path("alone"), "own"))

    def test_others_that_wait_keep_their_journals(self):
        journal = self.path("out", ".unfinished", "another")
        os.makedirs(os.path.dirname(journal))
        self.file("out/.unfinished/another", b"medgrad journal x ")
        self.good("run", self.file("x.json", SMALL), "--no-svg", "--out", self.out)
        self.assertTrue(os.path.exists(journal))
        self.file("out/own/notes.txt", "mine")
        self.good("run", self.file("x.json", SMALL), "--no-svg", "--out", self.out)
        self.assertEqual(content(self.out, "own", "notes.txt"), b"mine")


if __name__ == "__main__":
    unittest.main()
