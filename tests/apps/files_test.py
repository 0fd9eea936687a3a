"""Files of every kind: bad ones, formats, and more than fits in memory.

Run by CTest as: files_test.py MEDGRAD.
"""

import gzip
import json
import os
import pty
import resource
import shutil
import subprocess
import sys
import unittest

import numpy as np

from command import MEDGRAD, ROWS, CommandTest, content, run, table

GZIP = json.loads(run("doctor", "--format", "json").stdout)["gzip"]  # can this build read it?


class Files(CommandTest):
    """What is wrong with a file is the same sentence for every command that reads one."""

    def test_bad_input(self):
        good = np.arange(10.0).reshape(2, 5)
        whole = content(self.file("good.npy", good))
        cases = [
            (self.file("ragged.csv", "1,2,3\n4,5\n"),
             r"ragged.csv:2: the row has 2 values where the rows before have 3\."),
            (self.file("empty.csv", ""), r"empty.csv is empty: there are no rows\."),
            (self.file("text.csv", "1,2\n3,abc\n"), r"text.csv:2, column 2: 'abc' is not a number\."),
            (self.file("named.csv", "x;loss\r\n1;2\r\n3;abc\r\n"),
             r"named.csv:3, column 2 \('loss'\): 'abc' is not a number\."),
            (self.file("mixed.csv", "1,x\n1,2\n"), r"mixed.csv:1, column 2: 'x' is not a number; a header line"),
            (self.file("comma.csv", "a;b\n1,5;2,5\n"), r"comma.csv:2, column 1 \('a'\): .*decimals need a point"),
            (self.file("tabs.csv", "1,5\t2,5\n"), r"tabs.csv:1, column 2: .*decimals need a point"),
            (self.file("huge.csv", "1\n1e999\n"), r"huge.csv:2, column 1: '1e999' is too large"),
            (self.file("field.csv", "1,,2\n"), r"field.csv:1, column 2: the value is missing"),
            (self.file("header.csv", "x,y\n"), r"header.csv has a header but no rows"),
            (self.file("utf16.csv", "1,2\n".encode("utf-16")), r"utf16.csv is text in UTF-16"),
            (self.file("binary.csv", bytes(range(256))), r"binary.csv:1: '.x00' has no place in text"),
            (self.file("x.zst", b"\x28\xb5\x2f\xfd\x04\x00"), r"x.zst is compressed with zstd"),
            (self.file("x.npz", b"PK\x03\x04\x14\x00"), r"x.npz is a zip archive"),
            (self.file("short.npy", whole[:-8]),
             r"short.npy is truncated: the header promises 80 bytes of data, 72 are there\."),
            (self.file("long.npy", whole + b"x"), r"long.npy goes on after"),
            (self.file("short_int.npy", content(self.file("i.npy", good.astype(">i2")))[:-1]),
             r"short_int.npy is truncated: the header promises 20 bytes of data, 19 are there\."),
            (self.file("quad.npy", good.astype(np.longdouble)), r"quad.npy holds long doubles"),
            (self.file("complex.npy", good.astype(complex)), r"complex.npy holds complex numbers"),
            (self.file("words.npy", np.array(["a", "b"])), r"words.npy holds elements of type '<U1'"),
            (self.file("cube.npy", np.zeros((2, 2, 2))), r"cube.npy has shape \(2, 2, 2\)"),
            (self.file("none.npy", np.zeros((0, 3))), r"none.npy is empty: there are no rows"),
            (self.file("fake.npy", "1,2\n"), r"fake.npy is not an NPY file"),
            (self.path("missing.csv"), r"missing.csv does not exist\."),
            (self.folder.name, r"is a folder"),
        ]
        if GZIP:
            packed = gzip.compress(b"1,2\n" * 1000)
            cases += [
                (self.file("cut.csv.gz", packed[:-9]), r"cut.csv.gz is truncated: its gzip data end too early\."),
                (self.file("bad.csv.gz", packed[:-8] + b"12345678"), r"bad.csv.gz is damaged: its gzip data cannot"),
                (self.file("more.csv.gz", packed + b"x"), r"more.csv.gz is damaged: something follows"),
                (self.file("cut.npy.gz", gzip.compress(whole)[:-20]), r"cut.npy.gz is truncated"),
                (self.file("word.csv.gz", gzip.compress(b"x,y\n1,abc\n")),
                 r"word.csv.gz:2, column 2 \('y'\): 'abc' is not"),
            ]
        else:
            cases += [(self.file("x.csv.gz", gzip.compress(b"1\n")), r"x.csv.gz is compressed with gzip, which this")]
        commands = [["prox", "l1", "--tau", 1], ["project", "--q", 1, "--radius", 1],
                    ["estimate", "cclip"], ["aggregate", "median"]]
        for path, sentence in cases:
            for command in commands:
                self.bad("^medgrad: [^ ]*" + sentence if sentence[0] != "i" else sentence, *command,
                         "--out", self.path("out.csv"), path)
        self.bad(r"standard input:2, column 1: 'x' is not", "aggregate", "median", stdin=b"1\nx\n")

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

    def test_csv_as_people_have_it(self):
        plain = self.good("aggregate", "geometric-median", self.rows())
        lines = [[repr(x) for x in row] for row in ROWS]
        variants = {}
        for name, separator in (("comma", ","), ("padded", " , "), ("semicolon", ";"), ("tab", "\t"), ("blank", "  ")):
            for end in ("\n", "\r\n"):
                body = "".join(separator.join(line) + end for line in lines)
                header = separator.join(["x", '"y 1"', "z"]) + end
                variants[f"{name}{len(end)}"] = body
                variants[f"{name}{len(end)}-header"] = header + body
                variants[f"{name}{len(end)}-all"] = "\ufeff# made by hand" + end + end + header + body
        variants["quoted"] = "".join(",".join(f'"{x}"' for x in line) + "\n" for line in lines)
        for name, text in variants.items():
            with self.subTest(name):
                self.assertEqual(self.good("aggregate", "geometric-median", self.file(name + ".csv", text)), plain)

    def test_names_of_columns(self):
        data = self.file("data.csv", 'step;"loss, train"\n1;2\n3;nan\n')
        self.bad(r"data.csv:3: component 2 \('loss, train'\) is nan", "estimate", "vclip", data)
        self.bad(r"data.csv:3: component 2 \('loss, train'\) is nan", "aggregate", "median", data)
        self.bad(r"data.csv:3: component 2 \('loss, train'\) is nan", "prox", "l1", "--tau", 1, "--out",
                 self.path("out.csv"), data)
        good = self.file("good.csv", 'step;"loss, train"\n1;2\n')
        header = b'step,"loss, train"\n'
        for command in (["prox", "l1", "--tau", 0.5], ["project", "--q", 1, "--radius", 1],
                        ["estimate", "vclip", "--every", 1], ["aggregate", "mean"]):
            plain = self.good(*command, good)
            self.assertEqual(len(table(plain)), 1)
            self.assertEqual(self.good(*command, "--header", good), header + plain)
            self.good(*command, "--header", "--out", self.path("again.csv"), good)
            self.assertTrue(self.good(*command, "--header", self.path("again.csv")).startswith(header))
            os.remove(self.path("again.csv"))
            self.bad("--header is for csv only", *command, "--header", "--format", "json", good)
            self.bad("plain.csv has no header line", *command, "--header", self.file("plain.csv", "1,2\n"))
        self.bad("b.csv names column 1 'y' where .*a.csv has 'x'", "aggregate", "mean",
                 self.file("a.csv", "x,y\n1,2\n"), self.file("b.csv", "y,x\n1,2\n"))

    def test_npy_of_other_types(self):
        values = np.array([[0, 1, 2], [3, 100, 1]])
        plain = self.good("prox", "l1", "--tau", 0.5, self.file("plain.npy", values.astype(float)))
        arrays = {f"{order}{kind}": values.astype(order + kind) for order in "<>" for kind in
                  ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")}
        arrays |= {f"fortran{name}": np.asfortranarray(array) for name, array in arrays.items()}
        for name, array in arrays.items():
            path = self.file("x.npy", array)
            native = name in ("<f4", "<f8")
            kind = ("big-endian " if name[-3] == ">" and name[-1] != "1" else "") + array.dtype.name
            order = " in Fortran order" if name.startswith("fortran") else ""
            as_type = "float32" if name[-2:] in ("f2", "f4") else "float64"
            note = f"medgrad: {path} holds {kind}{order}; it was read as {as_type}.\n"
            with self.subTest(name):
                result = run("prox", "l1", "--tau", 0.5, path)
                self.assertEqual((result.returncode, result.stdout), (0, plain))
                self.assertEqual(result.stderr.decode(), "" if native else note)
                quiet = run("prox", "l1", "--tau", 0.5, "--quiet", path)
                self.assertEqual((quiet.stdout, quiet.stderr), (plain, b""))
                if GZIP:
                    packed = self.file("x.npy.gz", gzip.compress(content(path)))
                    self.assertEqual(self.good("prox", "l1", "--tau", 0.5, packed), plain)
                piped = run("prox", "l1", "--tau", 0.5, stdin=content(path))
                self.assertEqual(piped.stdout, plain)

    def test_npy_notes_in_every_command(self):
        big = self.file("big.npy", np.array([[2**53 + 1, 1], [-2**53 - 1, 2**53], [5, 6]]))
        note = b"big.npy holds int64; it was read as float64, and 2 integers beyond 2^53 had to be rounded.\n"
        for command in (["prox", "l1", "--tau", 1], ["estimate", "vclip"], ["aggregate", "median"],
                        ["noise", "pdf", "--alpha", 1.5]):
            self.assertTrue(run(*command, big).stderr.endswith(note), command)
        three = self.file("three.csv", "1\n2\n3\n")
        ones = self.file("ones.npy", np.ones(3, bool))
        note = b"ones.npy holds bool; it was read as float64.\n"
        self.assertTrue(run("aggregate", "mean", "--weights", ones, three).stderr.endswith(note))
        self.assertTrue(run("estimate", "vclip", "--start", ones, self.rows()).stderr.endswith(note))
        many = self.file("many.npy", np.arange(-500, 500))
        note = b"many.npy holds int64; it was read as float64.\n"
        for form in ("csv", "json"):
            self.assertIn(note, run("noise", "fit", "--format", form, many).stderr)

    def test_npy_of_no_dimension_is_one_value(self):
        self.assertEqual(self.good("prox", "l1", "--tau", 1, self.file("x.npy", np.array(3.0))), b"2\n")

    @unittest.skipUnless(GZIP, "a build without zlib")
    def test_gzip(self):
        data = self.rows()
        plain = self.good("estimate", "cclip", data)
        packed = gzip.compress(content(data))
        self.assertEqual(self.good("estimate", "cclip", self.file("data.csv.gz", packed)), plain)
        self.assertEqual(self.good("estimate", "cclip", self.file("no-ending", packed)), plain)
        self.assertEqual(self.good("estimate", "cclip", "-", stdin=packed), plain)
        self.assertEqual(self.good("aggregate", "mean", self.path("data.csv.gz")), self.good("aggregate", "mean", data))

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


class Space(CommandTest):
    """What cannot fit is refused before it is half written."""

    def test_samples(self):
        for name, size in (("x.npy", "8 PB"), ("x.csv", "2 PB"), ("x.json", "2 PB")):
            self.bad(rf"{name} cannot be written: it takes at least {size}, and [0-9.e+]+ [A-Za-z]+ are free on that disk",
                     "noise", "sample", "--alpha", 1, "-n", "1e14", "-d", 10, "--out", self.path(name))

    def test_rows_of_a_file(self):
        path = self.file("large.npy", np.zeros((1, 1000), np.int8))
        rows = 2 * os.statvfs(self.folder.name).f_bavail * os.statvfs(self.folder.name).f_frsize // 8000
        header = content(path)[:128].replace(b"(1, 1000), }", f"({rows}, 1000), }}".encode())[:127] + b"\n"
        try:
            with open(path, "wb") as file:
                file.write(header)
                file.truncate(128 + rows * 1000)
        except OSError:
            self.skipTest("a file system without holes in files")
        for command in (["prox", "l1", "--tau", 1], ["project", "--q", 1, "--radius", 1],
                        ["estimate", "vclip", "--every", 1]):
            self.bad("out.npy cannot be written: it takes at least", *command, "--out", self.path("out.npy"), path)


class Terminal(CommandTest):
    def at_terminal(self, *arguments):
        """Types one row and Ctrl-D; returns what standard output and standard error have."""
        leader, follower = pty.openpty()
        with subprocess.Popen([MEDGRAD, *arguments], stdin=follower, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            os.close(follower)
            os.write(leader, b"3\n\x04")
            result = process.communicate(timeout=60)
        os.close(leader)
        return result

    def test_hint(self):
        hint = b"medgrad: reading rows from standard input; end with Ctrl-D.\n"
        for command in (["prox", "l1", "--tau", "1"], ["prox", "l1", "--tau", "1", "-"]):
            self.assertEqual(self.at_terminal(*command), (b"2\n", hint))
            self.assertEqual(self.at_terminal(*command, "--quiet"), (b"2\n", b""))
        self.assertEqual(self.at_terminal("aggregate", "mean"), (b"3\n", hint))
        self.assertEqual(self.at_terminal("noise", "pdf", "--alpha", "2")[1], hint)
        self.assertEqual(self.at_terminal("noise", "pdf", "--alpha", "2", "--x", "1")[1], b"")
        self.assertEqual(run("prox", "l1", "--tau", 1, stdin=b"3\n").stderr, b"")


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
    def test_files_larger_than_memory_that_are_converted(self):
        path, rows = self.path("large.npy"), 50000
        packed = self.path("large.npy.gz")
        for descr, fortran in (("|i1", False), (">f8", False), ("<f8", True), ("<i2", True)):
            header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 1000), descr))
            header |= {"fortran_order": fortran, "shape": (rows, 1000)}
            with open(path, "wb") as file:
                np.lib.format.write_array_header_1_0(file, header)
                file.truncate(file.tell() + rows * 1000 * int(descr[2]))
            result = self.limited("estimate", "cclip", "--quiet", path)
            self.assertEqual((result.returncode, result.stderr), (0, b""), descr)
            self.assertEqual(table(result.stdout), [[0.0] * 1000])
            if GZIP and descr == ">f8":
                with open(path, "rb") as plain, gzip.open(packed, "wb", 1) as file:
                    shutil.copyfileobj(plain, file)
                result = self.limited("estimate", "cclip", "--quiet", packed)
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
