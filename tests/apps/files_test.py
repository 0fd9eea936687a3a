"""Files of every kind: bad ones, formats, and more than fits in memory.

Run by CTest as: files_test.py MEDGRAD.
"""

import json
import os
import resource
import subprocess
import sys
import unittest

import numpy as np

from command import MEDGRAD, ROWS, CommandTest, content, table


class Files(CommandTest):
    """What is wrong with a file is the same sentence for every command that reads one."""

    def test_bad_input(self):
        good = np.arange(10.0).reshape(2, 5)
        whole = content(self.file("good.npy", good))
        cases = [
            (self.file("ragged.csv", "1,2,3\n4,5\n"),
             r"ragged.csv:2: the row has 2 values where the rows before have 3\."),
            (self.file("empty.csv", ""), r"empty.csv is empty: there are no rows\."),
            (self.file("text.csv", "1,2\n3,abc\n"), r"text.csv:2: 'abc' is not a number\."),
            (self.file("huge.csv", "1\n1e999\n"), r"huge.csv:2: '1e999' is too large"),
            (self.file("field.csv", "1,,2\n"), r"field.csv:1: a value is missing"),
            (self.file("short.npy", whole[:-8]),
             r"short.npy is truncated: the header promises 80 bytes of data, 72 are there\."),
            (self.file("long.npy", whole + b"x"), r"long.npy goes on after"),
            (self.file("big.npy", good.astype(">f8")), r"big.npy is big-endian \('>f8'\)"),
            (self.file("fortran.npy", np.asfortranarray(good)), r"fortran.npy is in Fortran order"),
            (self.file("int.npy", good.astype(np.int32)), r"int.npy holds elements of type '<i4'"),
            (self.file("scalar.npy", np.array(1.0)), r"scalar.npy has shape \(\)"),
            (self.file("cube.npy", np.zeros((2, 2, 2))), r"cube.npy has shape \(2, 2, 2\)"),
            (self.file("none.npy", np.zeros((0, 3))), r"none.npy is empty: there are no rows"),
            (self.file("fake.npy", "1,2\n"), r"fake.npy is not an NPY file"),
            (self.path("missing.csv"), r"missing.csv does not exist\."),
            (self.folder.name, r"is a folder"),
        ]
        commands = [["prox", "l1", "--tau", 1], ["project", "--q", 1, "--radius", 1],
                    ["estimate", "cclip"], ["aggregate", "median"]]
        for path, sentence in cases:
            for command in commands:
                self.bad("^medgrad: [^ ]*" + sentence if sentence[0] != "i" else sentence, *command,
                         "--out", self.path("out.csv"), path)
        self.bad(r"standard input:2: 'x' is not", "aggregate", "median", stdin=b"1\nx\n")

    def test_bad_output(self):
        data = self.rows()
        for command in (["prox", "l1", "--tau", 1], ["estimate", "cclip"], ["aggregate", "median"]):
            self.bad("there is no folder", *command, "--out", self.path("no/out.csv"), data)
            self.bad("has to end in .csv, .json or .npy", *command, "--out", self.path("x.xls"), data)
            self.bad("is a folder", *command, "--format", "csv", "--out", self.folder.name, data)
            self.bad("must be csv, json or npy", *command, "--format", "xml", data)
        self.bad("there is no folder", "aggregate", "median", "--out", self.path("o.csv"), "--stats",
                 self.path("no/stats.json"), data)

    def test_a_failed_run_leaves_the_old_file(self):
        old = self.file("out.csv", "old\n")
        self.bad("'x' is not a number", "estimate", "cclip", "--every", 1, "--out", old,
                 self.file("x.csv", "1\n2\nx\n"))
        self.assertEqual(content(old), b"old\n")

    def test_a_killed_run_leaves_nothing(self):
        try:
            os.close(os.open(self.folder.name, os.O_TMPFILE | os.O_RDWR))
        except OSError:
            self.skipTest("a file system without nameless files")
        with subprocess.Popen([MEDGRAD, "prox", "l1", "--tau", "1", "--out", self.path("out.csv")],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(b"1,2,3\n" * 100000)
            process.stdin.flush()
            process.kill()
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_formats_hold_the_same_numbers(self):
        data, array = self.rows(), self.file("data.npy", np.array(ROWS))
        command = ["estimate", "cclip", "--tau", 0.3, "--every", 1]
        csv = self.good(*command, data)
        self.assertEqual(self.good(*command, array), csv)
        self.assertEqual(self.good(*command, "-", stdin=content(data)), csv)
        expected = np.array(table(csv))
        for name, load in (("o.csv", lambda p: np.loadtxt(p, delimiter=",")), ("o.npy", np.load),
                           ("o.json", lambda p: np.array(json.loads(content(p))))):
            self.assertEqual(self.good(*command, "--out", self.path(name), data), b"")
            np.testing.assert_array_equal(load(self.path(name)), expected)
            form = name.split(".")[1]
            written = content(self.path(name))
            self.assertEqual(self.good(*command, "--format", form, data), written)
        self.assertEqual(json.loads(self.good(*command, "--format", "json", data)), table(csv))

    def test_float32_stays_float32(self):
        x = np.float32([[0.1, 3e38], [1e-45, -7]])
        data, out = self.file("x.npy", x), self.path("out.npy")
        # A ball that holds everything: projection changes nothing.
        self.good("project", "--q", "inf", "--radius", 3.4e38, "--out", out, data)
        result = np.load(out)
        self.assertEqual(result.dtype, np.float32)
        np.testing.assert_array_equal(result, x)
        self.assertEqual(self.good("project", "--q", "inf", "--radius", 3.4e38, data),
                         b"0.1,3e+38\n1e-45,-7\n")
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(data, "wb") as file:
                np.lib.format.write_array(file, x, version=version)
            self.good("project", "--q", "inf", "--radius", 3.4e38, "--out", out, data)
            np.testing.assert_array_equal(np.load(out), x)


class Streaming(CommandTest):
    # Sanitizers reserve terabytes of addresses; the resident set is what counts there too, but it is
    # theirs as well. The limit is in the address space because that one cannot be missed.
    LIMIT = 160 << 20

    def limited(self, *arguments, **options):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (self.LIMIT, self.LIMIT))

        return subprocess.run([MEDGRAD, *map(str, arguments)], preexec_fn=limit,
                              capture_output=True, timeout=300, check=False, **options)

    @unittest.skipIf(os.environ.get("MEDGRAD_SANITIZED"), "sanitizers need the addresses")
    def test_a_file_larger_than_memory(self):
        path = self.file("large.npy", np.zeros((1, 1000)))
        rows = 50000  # 400 MB of zeros that take no place on disk
        header = content(path)[:128].replace(b"(1, 1000), }    ", b"(50000, 1000), }")
        with open(path, "wb") as file:
            file.write(header)
            file.truncate(128 + rows * 8000)
        result = self.limited("estimate", "cclip", path)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(table(result.stdout), [[0.0] * 1000])

    @unittest.skipIf(os.environ.get("MEDGRAD_SANITIZED"), "sanitizers need the addresses")
    def test_a_stream_larger_than_memory(self):
        line = b",".join(b"%.6f" % (i / 7) for i in range(1000)) + b"\n"
        count = (200 << 20) // len(line)
        generator = f"import sys\nfor _ in range({count}): sys.stdout.buffer.write({line!r})"
        with subprocess.Popen([sys.executable, "-c", generator], stdout=subprocess.PIPE) as source:
            result = self.limited("estimate", "momentum", "--tau", 1e9, "-", stdin=source.stdout)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        np.testing.assert_allclose(table(result.stdout), table(line), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
