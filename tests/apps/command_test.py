"""The medgrad command, end to end: every command, every kind of bad input, formats, memory.

Run by CTest as: command_test.py MEDGRAD.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import numpy as np

MEDGRAD = ""
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [-1.0, 0.25, 1e-3], [1e300, 0.1, -7.0]]


def run(*arguments, stdin=b"", **options):
    return subprocess.run([MEDGRAD, *map(str, arguments)], input=stdin, capture_output=True,
                          timeout=120, check=False, **options)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def table(text):
    return [[float(x) for x in line.split(",")] for line in text.decode().splitlines()]


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def file(self, name, what):
        """Writes a file of text, bytes, or an array."""
        path = self.path(name)
        if isinstance(what, np.ndarray):
            np.save(path, what)
        else:
            with open(path, "wb") as out:
                out.write(what.encode() if isinstance(what, str) else what)
        return path

    def rows(self, name="data.csv"):
        return self.file(name, "".join(",".join(map(repr, row)) + "\n" for row in ROWS))

    def good(self, *arguments, stdin=b""):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def bad(self, sentence, *arguments, stdin=b""):
        """One sentence that matches, exit code 2, nothing printed, no file left behind."""
        before = sorted(os.listdir(self.folder.name))
        result = run(*arguments, stdin=stdin)
        error = result.stderr.decode()
        with self.subTest(arguments=arguments, error=error):
            self.assertEqual(result.returncode, 2)
            self.assertTrue(re.fullmatch(r"medgrad: [^\n]+\.\n", error))
            self.assertRegex(error, sentence)
            self.assertEqual(sorted(os.listdir(self.folder.name)), before)


class Everything(CommandTest):
    def test_help_and_version(self):
        self.assertRegex(self.good("--version"), rb"^medgrad \d+\.\d+\.\d+\n$")
        for arguments in ([], ["--help"], ["help"]):
            self.assertIn(b"estimate", self.good(*arguments))
        for command in ("list", "doctor", "prox", "project", "estimate", "aggregate", "report"):
            text = self.good(command, "--help").decode()
            self.assertTrue(text.startswith(f"usage: medgrad {command} "))
            for option in ("--seed", "--threads", "--quiet", "--help"):
                self.assertIn(option, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
        text = b" ".join(self.good("estimate", "vclip", "--help").split())
        for part in (b"min(1, tau/|g-m|)", b"0 < tau < inf", b"default 1"):
            self.assertIn(part, text)
        self.assertNotIn(b"--mu", text)

    def test_list(self):
        everything = json.loads(self.good("list", "--format", "json"))
        self.assertEqual(list(everything), ["methods", "distances", "aggregators", "noises"])
        for kind, entries in everything.items():
            text = self.good("list", kind).decode()
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            for entry in entries:
                self.assertIn(entry["name"], text)
                for parameter in entry["parameters"]:
                    self.assertEqual(parameter["required"], parameter["default"] is None)
        self.assertIn(b"| `vclip`", self.good("list", "--format", "markdown"))
        self.bad("must be methods, distances, aggregators or noises", "list", "everything")
        self.bad("must be text, json or markdown", "list", "--format", "xml")

    def test_doctor(self):
        os.mkdir(self.path("ptb"))
        environment = {**os.environ, "MEDGRAD_DATA": self.folder.name, "MEDGRAD_SIMD": "SCALAR"}
        result = run("doctor", "--format", "json", env=environment)
        doctor = json.loads(result.stdout)
        self.assertEqual(doctor["simd"], "SCALAR")
        self.assertIn("SCALAR", doctor["simd_available"])
        self.assertEqual(doctor["data"], {"ptb": True, "wikitext-2": False, "squad": False,
                                          "minilm-l6": False})
        self.assertIn(b"SIMD", self.good("doctor"))
        wrong = run("doctor", env={**os.environ, "MEDGRAD_SIMD": "MMX"})
        self.assertEqual((wrong.returncode, wrong.stdout), (2, b""))

    def test_common_options_are_taken_everywhere(self):
        data = self.rows()
        for command in (["list"], ["doctor"], ["prox", "l1", "--tau", 1, data],
                        ["project", "--q", 2, "--radius", 1, data], ["estimate", "vclip", data],
                        ["aggregate", "median", data]):
            self.good(*command, "--seed", 7, "--threads", 2, "--quiet")


class Mappings(CommandTest):
    def test_prox_l1_is_soft_thresholding(self):
        expected = np.sign(ROWS) * np.maximum(np.abs(ROWS) - 0.5, 0)
        np.testing.assert_allclose(table(self.good("prox", "l1", "--tau", 0.5, self.rows())),
                                   expected, rtol=1e-15)

    def test_prox_with_parameters(self):
        x = np.array([[3.0, 4.0]])
        data = self.file("x.npy", x)
        for arguments, scale in ((["squared"], 1 / 1.5), (["l2"], 1 - 0.5 / 5),
                                 (["lp", "--p", 2], 1 - 0.5 / 5),
                                 (["huber", "--mu", 2], 1 - 2 * 0.5 / 5)):
            result = table(self.good("prox", *arguments, "--tau", 0.5, data))
            np.testing.assert_allclose(result, scale * x, rtol=1e-12)
        # The dual of the largest entry is the 1-ball: 3, 4 lose 0.5 in all, from the larger one.
        result = table(self.good("prox", "lp", "--p", "inf", "--tau", 0.5, data))
        np.testing.assert_allclose(result, [[3.0, 3.5]], rtol=1e-12)

    def test_project(self):
        data = self.file("x.csv", "3 4\n0.1 0.2\n")
        for q, expected in ((2, [[0.6, 0.8], [0.1, 0.2]]), ("inf", [[1, 1], [0.1, 0.2]]),
                            (1, [[0, 1], [0.1, 0.2]])):
            result = table(self.good("project", "--q", q, "--radius", 1, data))
            np.testing.assert_allclose(result, expected, rtol=1e-12)

    def test_bad(self):
        data = self.rows()
        self.bad("needs --tau", "prox", "l1", data)
        self.bad("--tau is 0; it must satisfy 0 < tau", "prox", "l1", "--tau", 0, data)
        self.bad("--tau is -1;", "prox", "l1", "--tau", -1, data)
        self.bad("--tau is 'x'; it must be a number", "prox", "l1", "--tau", "x", data)
        self.bad("--tau is 'nan'; it must be a number", "prox", "l1", "--tau", "nan", data)
        self.bad("--tau is inf", "prox", "l1", "--tau", "inf", data)
        self.bad("--p is 0.5; it must satisfy p >= 1", "prox", "lp", "--tau", 1, "--p", 0.5, data)
        self.bad("lp needs --p", "prox", "lp", "--tau", 1, data)
        self.bad("--mu is 0;", "prox", "huber", "--tau", 1, "--mu", 0, data)
        self.bad("l1 has no --mu; it takes no parameters", "prox", "l1", "--tau", 1, "--mu", 1, data)
        self.bad("'l11' is no distance; the nearest is 'l1'", "prox", "l11", "--tau", 1, data)
        self.bad("a DISTANCE has to be named", "prox", "--tau", 1)
        self.bad("needs --q", "project", "--radius", 1, data)
        self.bad("--q is 0.5", "project", "--q", 0.5, "--radius", 1, data)
        self.bad("--radius is -1", "project", "--q", 2, "--radius", -1, data)
        self.bad(r"nan.csv:2: component 1 is nan", "prox", "l1", "--tau", 1,
                 "--out", self.path("out.csv"), self.file("nan.csv", "1,2\nnan,1\n"))


class Estimates(CommandTest):
    def test_momentum_is_an_exponential_average(self):
        m = np.zeros(3)
        steps = []
        for g in np.array(ROWS):
            m = m + (0.25 / 1.25) * (g - m)
            steps.append(m)
        data = self.rows()
        estimate = ["estimate", "momentum", "--tau", 0.25]
        np.testing.assert_allclose(table(self.good(*estimate, data)), steps[-1:], rtol=1e-12)
        np.testing.assert_allclose(table(self.good(*estimate, "--every", 1, data)), steps, rtol=1e-12)
        # The last step is printed once, whether or not K divides it.
        np.testing.assert_allclose(table(self.good(*estimate, "--every", 3, data)),
                                   [steps[2], steps[3]], rtol=1e-12)
        np.testing.assert_allclose(table(self.good(*estimate, "--every", 2, data)),
                                   [steps[1], steps[3]], rtol=1e-12)
        np.testing.assert_allclose(table(self.good(*estimate, "--average", data)),
                                   [np.mean(steps, axis=0)], rtol=1e-12)

    def test_cold_vclip_clips_the_last_row(self):
        data = self.file("x.csv", "100,100\n3,4\n")
        np.testing.assert_allclose(table(self.good("estimate", "vclip", "--cold", data)),
                                   [[0.6, 0.8]], rtol=1e-12)

    def test_start_and_states(self):
        data, start = self.rows(), self.file("start.csv", "1 1 1\n")
        state = self.path("state")
        whole = self.good("estimate", "huber", "--average", "--start", start, data)
        first, rest = self.path("first.csv"), self.path("rest.csv")
        np.savetxt(first, ROWS[:2], delimiter=",", fmt="%r")
        np.savetxt(rest, ROWS[2:], delimiter=",", fmt="%r")
        self.good("estimate", "huber", "--average", "--start", start, "--save-state", state, first)
        self.assertEqual(self.good("estimate", "huber", "--average", "--resume", state, rest), whole)
        self.bad("state: the saved state is of", "estimate", "vclip", "--resume", state, rest)
        self.bad("both say where to begin", "estimate", "huber", "--start", start, "--resume", state,
                 rest)
        self.bad("start.csv: component 2 is inf", "estimate", "vclip", "--start",
                 self.file("start.csv", "1 inf 1\n"), data)
        self.bad("has 2 values where a row of .*data.csv has 3", "estimate", "vclip", "--start",
                 self.file("short.csv", "1,2\n"), data)
        self.bad("several rows", "estimate", "vclip", "--start", data, data)

    def test_non_finite(self):
        data = self.file("x.csv", "1,2\nnan,3\ninf,1\n")
        out = self.path("out.csv")
        self.bad(r"x.csv:2: component 1 is nan; use --non-finite robust", "estimate", "vclip",
                 "--out", out, data)
        self.bad(r"x.npy, row 2: component 1 is nan", "estimate", "vclip",
                 self.file("x.npy", np.array([[1, 2], [np.nan, 3]])))
        result = run("estimate", "vclip", "--non-finite", "robust", data)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(np.isfinite(table(result.stdout)).all())
        self.assertRegex(result.stderr.decode(),
                         r"^medgrad: .*2 components that are not finite, in 2 of its rows\.\n$")
        quiet = run("estimate", "vclip", "--non-finite", "robust", "--quiet", data)
        self.assertEqual(quiet.stderr, b"")
        self.bad("must be reject or robust", "estimate", "vclip", "--non-finite", "ignore", data)

    def test_bad(self):
        data = self.rows()
        self.bad("vclip has no --mu; it takes --tau", "estimate", "vclip", "--mu", 1, data)
        self.bad("'vclp' is no online method; the nearest is 'vclip'", "estimate", "vclp", data)
        self.bad("a METHOD has to be named: one of momentum", "estimate")
        self.bad("--every is '0'", "estimate", "vclip", "--every", 0, data)
        self.bad("--every is '-3'", "estimate", "vclip", "--every", -3, data)
        self.bad("--tau is -1", "estimate", "vclip", "--tau=-1", data)
        self.bad("--beta is 1;", "estimate", "clipped-mean", "--beta", 1, data)
        self.bad("lp needs --p", "estimate", "lp", data)
        self.bad("--resume .* cannot be read", "estimate", "vclip", "--resume", self.path("no"), data)


class Aggregates(CommandTest):
    def test_median_and_mean_of_several_files(self):
        files = [self.rows("a.csv"), self.file("b.npy", np.array([[9.0, 9.0, 9.0]])),
                 self.file("c.npy", np.float32([[0.5, 0.25, 0.125]]))]
        rows = np.array(ROWS + [[9, 9, 9], [0.5, 0.25, 0.125]])
        result = table(self.good("aggregate", "median", *files))
        np.testing.assert_allclose(result, [np.median(rows, axis=0)], rtol=1e-15)
        data = self.file("d.csv", "1,2\n3,4\n8,0\n")
        np.testing.assert_allclose(table(self.good("aggregate", "mean", data)), [[4, 2]], rtol=1e-15)

    def test_standard_input_stands_for_no_file_and_a_dash(self):
        for arguments in ([], ["-"]):
            output = self.good("aggregate", "median", *arguments, stdin=b"1 2\n3 4\n5 6\n")
            self.assertEqual(output, b"3,4\n")

    def test_stats(self):
        stats, out = self.path("stats.json"), self.path("out.npy")
        data = self.file("x.csv", "1,2\nnan,3\n2,inf\n1.5,2.5\n")
        result = run("aggregate", "median", "--non-finite", "robust", "--stats", stats, "--out", out,
                     data)
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        written = json.loads(content(stats))
        self.assertEqual(list(written), ["method", "n", "d", "iterations", "gap", "objective", "stop",
                                         "nan", "inf"])
        self.assertEqual([written[key] for key in ("method", "n", "d", "nan", "inf")],
                         ["median", 4, 2, 1, 1])
        np.testing.assert_allclose(np.load(out), [[1.5, 2.75]])

    def test_bad(self):
        data = self.rows()
        out = ["--out", self.path("out.csv"), "--stats", self.path("stats.json")]
        self.bad(r"\bf\b", "aggregate", "trimmed-mean", "--f", 2, *out, data)
        self.bad("--f is 0.5", "aggregate", "trimmed-mean", "--f", 0.5, *out, data)
        self.bad("median has no --f; it takes no", "aggregate", "median", "--f", 1, *out, data)
        self.bad("--p is 0.5", "aggregate", "lp-median", "--p", 0.5, *out, data)
        self.bad("--mu is -1", "aggregate", "huber-location", "--mu", -1, *out, data)
        self.bad("--tol is 0", "aggregate", "geometric-median", "--tol", 0, *out, data)
        self.bad("'medin' is no aggregator; the nearest is 'median'", "aggregate", "medin", data)
        self.bad(r"b.csv:3: component 2 is nan", "aggregate", "median", *out, data,
                 self.file("b.csv", "# b\n1,2,3\n1,nan,3\n"))
        self.bad("c.csv has rows of 2 values where .*data.csv has rows of 3", "aggregate", "median",
                 *out, data, self.file("c.csv", "1,2\n"))
        self.bad("has 2 values where there are 4 rows", "aggregate", "mean", "--weights",
                 self.file("w.csv", "1,1\n"), *out, data)
        self.bad("w.csv: weight 2 is 0; weights must be positive", "aggregate", "mean", "--weights",
                 self.file("w.csv", "1,0,1,1\n"), *out, data)
        self.bad("center.csv: component 1 is nan; the centre must be finite", "aggregate",
                 "clipped-mean", "--center", self.file("center.csv", "nan,1,1\n"), *out, data)
        self.bad("median has no --center", "aggregate", "median", "--center", data, *out, data)
        self.bad("has 2 values where a row of .*data.csv has 3", "aggregate", "clipped-mean",
                 "--center", self.file("center.csv", "1,1\n"), *out, data)


class Noise(CommandTest):
    def test_densities_have_closed_forms(self):
        # alpha = 2 is N(0, 2), alpha = 1 the Cauchy distribution.
        rows = table(self.good("noise", "pdf", "--alpha", 2, "--x=-1,0,3"))
        for x, value in rows:
            self.assertAlmostEqual(value, np.exp(-x * x / 4) / np.sqrt(4 * np.pi), places=15)
        result = json.loads(self.good("noise", "cdf", "--alpha", 1, "--x", "-1,0,1", "--format", "json"))
        self.assertEqual(list(result), ["x", "cdf"])
        np.testing.assert_allclose(result["cdf"], [0.25, 0.5, 0.75], rtol=1e-14)

    def test_functions_fit_each_other(self):
        law = ("--alpha", 1.3, "--beta", 0.5, "--scale", 2, "--location", -1, "--form", "S1")
        points = self.file("x.csv", "-30\n-1\n0.5\n7\n")
        rows = table(self.good("noise", "cdf", *law, points))
        back = table(self.good("noise", "quantile", *law, "--x", ",".join(repr(p) for _, p in rows)))
        np.testing.assert_allclose([q for _, q in back], [x for x, _ in rows], rtol=1e-8)
        above = table(self.good("noise", "survival", *law, points))
        for (_, p), (_, q) in zip(rows, above):
            self.assertAlmostEqual(p + q, 1, places=13)

    def test_samples_depend_on_seed_and_place_alone(self):
        def sample(*options):
            return self.good("noise", "sample", "--alpha", 1.5, "-d", 3, *options)
        whole = sample("-n", 100000, "--seed", 7, "--threads", 1)
        self.assertEqual(sample("-n", 100000, "--seed", 7, "--threads", 2), whole)
        self.assertTrue(whole.startswith(sample("-n", 10, "--seed", 7)))
        self.assertNotEqual(sample("-n", 10, "--seed", 8), sample("-n", 10, "--seed", 7))
        self.assertNotEqual(sample("-n", 10, "--stream", 1), sample("-n", 10))
        self.assertEqual(sample("-n", 0), b"")

    def test_fit_finds_what_was_sampled(self):
        data = self.path("noise.npy")
        self.good("noise", "sample", "--alpha", 1.4, "--scale", 3, "-n", 20000, "--out", data)
        result = json.loads(self.good("noise", "fit", data, "--format", "json"))
        # The 95 % interval is 0.025 to either side, so its standard error 0.0125: four of them.
        self.assertLess(abs(result["alpha"] - 1.4), 0.05)
        self.assertIn("heavier than Gaussian", result["verdict"])
        text = run("noise", "fit", data)
        self.assertIn(b"median-type estimator is advisable", text.stderr)
        self.assertEqual(text.stdout.splitlines()[1].split(b",")[0], b"alpha")

    def test_every_model_can_be_sampled(self):
        names = [noise["name"] for noise in json.loads(self.good("list", "noises", "--format", "json"))["noises"]]
        for name in names:
            alpha = ("--alpha", 1.2) if name in ("stable", "elliptical") else ()
            rows = np.array(table(self.good("noise", "sample", "--model", name, "-n", 50, "-d", 4, *alpha)))
            self.assertEqual(rows.shape, (50, 4))
            self.assertTrue(np.isfinite(rows).all())

    def test_bad(self):
        short = self.file("short.csv", "1\n2\n3\n")
        for arguments, words in [
                ((), "an action has to be named"),
                (("pfd", "--alpha", 1), "nearest is 'pdf'"),
                (("pdf", "--x", 1), "needs --alpha"),
                (("pdf", "--alpha", 0, "--x", 1), "--alpha is 0"),
                (("pdf", "--alpha", 2.5, "--x", 1), "--alpha is 2.5"),
                (("pdf", "--alpha", 0.05, "--x", 1), "alpha is 0.05"),
                (("pdf", "--alpha", 1, "--beta", 2, "--x", 1), "--beta is 2"),
                (("pdf", "--alpha", 1, "--scale", 0, "--x", 1), "--scale is 0"),
                (("pdf", "--alpha", 1, "--form", "S2", "--x", 1), "S2"),
                (("pdf", "--alpha", 1, "--x", "1,a"), "'a'"),
                (("pdf", "--alpha", 1, "--x", "1,"), "--x"),
                (("quantile", "--alpha", 1, "--x", 1.5), "1.5"),
                (("sample", "--alpha", 1, "-n", -1), "-n"),
                (("sample", "--alpha", 1, "-d", 0), "-d"),
                (("sample", "--model", "cauchi"), "cauchy"),
                (("sample", "--model", "cauchy", "--beta", 1), "has no --beta"),
                (("fit", short), "20"),
                (("fit", self.path("no.csv")), "does not exist")]:
            self.bad(words, "noise", *arguments)


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


class CommandLine(CommandTest):
    def test_bad(self):
        data = self.rows()
        self.bad("'estimat' is no command; the nearest is 'estimate'", "estimat")
        self.bad("a command comes before its options", "--quiet", "list")
        self.bad("--tua is no option of medgrad estimate; the nearest is --tau", "estimate", "vclip",
                 "--tua", 1, data)
        self.bad("-x is no option", "estimate", "vclip", "-x", data)
        self.bad("--tau needs a value", "estimate", "vclip", data, "--tau")
        self.bad("--tau may be given only once", "estimate", "vclip", data, "--tau", 1, "--tau", 2)
        self.bad("--tau needs a value", "estimate", "vclip", data, "--tau", "")
        self.bad("FILE is empty", "estimate", "vclip", "")
        self.bad("is one argument too many", "estimate", "vclip", data, data)
        self.bad("--threads is 'x'", "list", "--threads", "x")
        self.bad("--seed is '-1'", "list", "--seed", "-1")
        self.bad("--threads is '99999999999999999999'", "list", "--threads", "99999999999999999999")

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_exit_code_1(self):
        data = self.rows()
        for arguments in (["list"], ["estimate", "vclip", data],
                          ["estimate", "vclip", "--format", "npy", data]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([MEDGRAD, *arguments], stdout=full, stderr=subprocess.PIPE,
                                        check=False)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr.decode(),
                             r"^medgrad: standard output cannot be written: .*\.\n$")

    def test_a_live_stream_is_answered_row_by_row(self):
        # The answer to a row comes before the next row is sent, though neither end is a terminal.
        with subprocess.Popen([MEDGRAD, "estimate", "vclip", "--tau", "100", "--every", "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for row in (b"1,2\n", b"3,4\n"):
                process.stdin.write(row)
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), row)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def test_a_closed_pipe_ends_quietly(self):
        data = self.file("x.csv", "1,2,3\n" * 200000)
        with subprocess.Popen([MEDGRAD, "prox", "l1", "--tau", "0.5", data], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"0.5,1.5,2.5\n")
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, 1)


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
    MEDGRAD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
