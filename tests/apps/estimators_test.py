"""medgrad prox, project, estimate and aggregate, end to end.

Run by CTest as: estimators_test.py MEDGRAD.
"""

import json
import os
import unittest

import numpy as np

from command import ROWS, CommandTest, content, run, table


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
        self.bad("--tau is missing; prox needs it", "prox", "l1", data)
        self.bad("--tau is 0; it must satisfy 0 < tau", "prox", "l1", "--tau", 0, data)
        self.bad("--tau is -1;", "prox", "l1", "--tau", -1, data)
        self.bad("--tau is 'x'; it must be a number", "prox", "l1", "--tau", "x", data)
        self.bad("--tau is 'nan'; it must be a number", "prox", "l1", "--tau", "nan", data)
        self.bad("--tau is inf", "prox", "l1", "--tau", "inf", data)
        self.bad("--p is 0.5; it must satisfy p >= 1", "prox", "lp", "--tau", 1, "--p", 0.5, data)
        self.bad("--p is missing; lp needs it", "prox", "lp", "--tau", 1, data)
        self.bad("--mu is 0;", "prox", "huber", "--tau", 1, "--mu", 0, data)
        self.bad("--mu is not a parameter of l1, which has none", "prox", "l1", "--tau", 1, "--mu", 1, data)
        self.bad("'l11' is not a distance. Did you mean 'l1'", "prox", "l11", "--tau", 1, data)
        self.bad("DISTANCE is missing", "prox", "--tau", 1)
        self.bad("--q is missing; project needs it", "project", "--radius", 1, data)
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
        self.bad("huber mu=1.345 .* where this estimator is '.* huber mu=2 ", "estimate", "huber", "--average",
                 "--mu", 2, "--resume", state, rest)
        self.bad("both say where to begin", "estimate", "huber", "--start", start, "--resume", state,
                 rest)
        with open(state, "ab") as file:
            file.write(b"xx")
        self.bad("state: something follows the state", "estimate", "huber", "--average", "--resume", state, rest)
        self.bad("start.csv: component 2 is inf", "estimate", "vclip", "--start",
                 self.file("start.csv", "1 inf 1\n"), data)
        self.bad("has 2 values where a row of .*data.csv has 3", "estimate", "vclip", "--start",
                 self.file("short.csv", "1,2\n"), data)
        self.assertEqual(self.good("estimate", "vclip", "--", data), self.good("estimate", "vclip", data))
        self.bad("several rows", "estimate", "vclip", "--start", data, data)

    def test_a_state_keeps_its_tau_unless_one_is_given(self):
        state, ten = self.path("state"), self.file("ten.csv", "10\n")
        self.good("estimate", "cclip", "--tau", 1, "--save-state", state, self.file("zero.csv", "0\n"))
        self.assertEqual(self.good("estimate", "cclip", "--resume", state, ten), b"1\n")
        self.assertEqual(self.good("estimate", "cclip", "--tau", 3, "--resume", state, ten), b"3\n")

    def test_a_state_keeps_its_automatic_tau(self):
        rows = np.random.default_rng(5).standard_t(1.5, (40, 6))
        whole, first, rest = (self.file(f"{name}.npy", part) for name, part in (("all", rows), ("first", rows[:15]), ("rest", rows[15:])))
        state, one, other = self.path("state"), self.path("one.npy"), self.path("other.npy")
        for method, settings in (("vclip", ()), ("cclip", ("--level", 0.5)), ("huber", ("--theta", 0.3, "--level", 0.4, "--rate", 0.05))):
            with self.subTest(method=method):
                self.good("estimate", method, "--tau", "auto", *settings, "--out", one, whole)
                self.good("estimate", method, "--tau", "auto", *settings, "--save-state", state, first)
                for given in ((), ("--tau", "auto"), settings):
                    self.good("estimate", method, *given, "--resume", state, "--out", other, rest)
                    self.assertEqual(content(other), content(one))
                # What is given replaces that of the state, and nothing else does.
                for name, value in (("theta", 0.02), ("level", 0.9), ("rate", 0.9)):
                    stats = self.path("stats")
                    self.good("estimate", f"{method}:{name}={value}", "--resume", state, "--every", 1, "--stats", stats, "--out", other, rest)
                    self.assertNotEqual(content(other), content(one))
                    theta = value if name == "theta" else 0.3 if method == "huber" else 0.1
                    for line in map(json.loads, content(stats).splitlines()):
                        if method == "vclip":
                            self.assertEqual(line["tau"], theta * line["size"])
        self.bad("state: the saved state is of .* tau=auto .* where this estimator is", "estimate", "huber", "--tau", 1, "--resume", state, rest)
        self.good("estimate", "vclip", "--save-state", state, first)
        for given in (("--tau", "auto"), ("--level", 0.5)):
            self.bad("state: the saved state is of 'proximal-point l2 double", "estimate", "vclip", *given, "--resume", state, rest)
        self.bad("--theta is not a parameter of momentum", "estimate", "momentum", "--theta", 0.1, "--resume", state, rest)

    def test_stats_of_steps(self):
        data, stats = self.file("x.csv", "3,4\nnan,8\n6,8\n"), self.path("stats.jsonl")
        how = ("estimate", "vclip", "--non-finite", "robust", "--quiet", "--stats", stats)

        def lines(*options):
            self.good(*how, *options, data)
            return [json.loads(line) for line in content(stats).splitlines()]
        (last,) = lines("--tau", "auto", "--theta", 0.5)
        steps = lines("--tau", "auto", "--theta", 0.5, "--every", 1)
        self.assertEqual(steps[2], last)
        self.assertEqual([line["step"] for line in steps], [1, 2, 3])
        self.assertEqual([line["non_finite"] for line in steps], [0, 1, 0])
        self.assertEqual(steps[0], {"step": 1, "increment_norm": 5.0, "effective_beta": 0.5, "clipped_share": 1.0, "non_finite": 0, "tau": 2.5,
                                    "size": 5.0})
        self.assertEqual([line["step"] for line in lines("--every", 2)], [2, 3])
        self.assertEqual({(line["tau"], line["size"]) for line in lines("--tau", 2, "--every", 1)}, {(2.0, 0.0)})
        same = self.path("same.csv")
        for option in ("--out", "--save-state"):
            self.bad(f"--stats and {option} both name .*same", "estimate", "vclip", "--stats", same, option, same, data)
        self.bad("--stats is .*that file is read", "estimate", "vclip", "--stats", data, data)

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
                         r"^medgrad: .*2 components that are not finite, in 2 rows\.\n$")
        quiet = run("estimate", "vclip", "--non-finite", "robust", "--quiet", data)
        self.assertEqual(quiet.stderr, b"")
        self.bad("must be reject or robust", "estimate", "vclip", "--non-finite", "ignore", data)

    def test_bad(self):
        data = self.rows()
        self.bad("'vclip:tau=1' and --tau both give tau", "estimate", "vclip:tau=1", "--tau", 1, data)
        self.bad("tau in 'vclip:tau=-1' is -1; it must satisfy 0 < tau < inf, or be auto", "estimate", "vclip:tau=-1", data)
        self.bad("has an empty part", "estimate", "vclip:", data)
        self.bad("tau in 'ema:tau=2' is 2; it must satisfy 0 < tau <= 1", "estimate", "ema:tau=2", data)
        self.bad("--tau is 2; it must satisfy 0 < tau <= 1", "estimate", "ema", "--tau", 2, data)
        self.bad("Tau in 'vclip:Tau=1' is not a parameter of vclip. Did you mean 'tau'\\?", "estimate", "vclip:Tau=1", data)
        self.bad("'sign-sgd' is not an online method", "estimate", "sign-sgd", data)
        self.bad("--mu is not a parameter of vclip, which has tau", "estimate", "vclip", "--mu", 1, data)
        self.bad("'vclp' is not an online method. Did you mean 'vclip'", "estimate", "vclp", data)
        self.bad("METHOD is missing; it must be one of momentum", "estimate")
        self.bad("--every is '0'", "estimate", "vclip", "--every", 0, data)
        self.bad("--every is '-3'", "estimate", "vclip", "--every", -3, data)
        self.bad("--tau is -1", "estimate", "vclip", "--tau=-1", data)
        self.bad("--beta is 1;", "estimate", "clipped-mean", "--beta", 1, data)
        self.bad("--p is missing; lp needs it", "estimate", "lp", data)
        self.bad("--resume .* cannot be read", "estimate", "vclip", "--resume", self.path("no"), data)


class Inputs(CommandTest):
    def test_no_command_overwrites_what_it_reads(self):
        for command in (("estimate", "vclip"), ("aggregate", "mean"), ("prox", "l1", "--tau", 1),
                        ("project", "--q", 2, "--radius", 1), ("attack", "sign-flip", "--f", 1),
                        ("noise", "cdf", "--alpha", 1), ("noise", "fit")):
            data = self.file("data.csv", "1\n2\n3\n")
            link = self.path("link.csv")
            if not os.path.exists(link):
                os.symlink(data, link)
            for out in (data, link):
                with self.subTest(command=command, out=out):
                    self.bad("--out is .*csv; that file is read, and would be overwritten", *command, "--out", out, data)
                    with open(data, encoding="ascii") as file:
                        self.assertEqual(file.read(), "1\n2\n3\n")
        data = self.rows()
        self.bad("--stats is .*that file is read", "aggregate", "mean", "--stats", data, data)
        self.bad("--save-state is .*that file is read", "estimate", "vclip", "--save-state", data, data)
        self.bad("--out is .*that file is read", "aggregate", "clipped-mean", "--center", self.file("c.csv", "1,1,1\n"),
                 "--out", self.path("c.csv"), data)

    def test_a_state_may_follow_itself(self):
        state, one = self.path("state"), self.file("one.csv", "1\n")
        self.good("estimate", "vclip", "--save-state", state, one)
        self.good("estimate", "vclip", "--resume", state, "--save-state", state, one)


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

    def test_weights_of_any_size(self):
        data = self.file("x.csv", "0,0\n1,1\n")
        for weights in ("1e308,1e308\n", "1e-320,1e-320\n"):
            for method in ("mean", "median", "geometric-median", "huber-location"):
                output = self.good("aggregate", method, "--weights", self.file("w.csv", weights), data)
                self.assertEqual(output, b"0.5,0.5\n")

    def test_tolerance_is_how_far_it_goes(self):
        data = self.file("x.npy", np.random.default_rng(3).standard_cauchy((30, 4)))
        def stats(tolerance):
            self.good("aggregate", "geometric-median", "--tol", tolerance, "--stats", self.path("s.json"), data)
            return json.loads(content(self.path("s.json")))
        coarse, fine = stats(0.1), stats(1e-10)
        self.assertLess(coarse["iterations"], fine["iterations"])
        self.assertLessEqual(coarse["gap"], 0.1)
        self.assertLessEqual(fine["gap"], 1e-10)

    def test_stats(self):
        stats, out = self.path("stats.json"), self.path("out.npy")
        data = self.file("x.csv", "1,2\nnan,3\n2,inf\n1.5,2.5\n")
        result = run("aggregate", "median", "--non-finite", "robust", "--stats", stats, "--out", out,
                     data)
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        written = json.loads(content(stats))
        self.assertEqual(list(written), ["method", "n", "d", "iterations", "gap", "objective", "stop",
                                         "nan", "inf", "rows"])
        self.assertEqual([written[key] for key in ("method", "n", "d", "nan", "inf")],
                         ["median", 4, 2, 1, 1])
        np.testing.assert_allclose(np.load(out), [[1.5, 2.75]])

    def test_bad(self):
        data = self.rows()
        out = ["--out", self.path("out.csv"), "--stats", self.path("stats.json")]
        self.bad("--f is 2; with 4 rows", "aggregate", "trimmed-mean", "--f", 2, *out, data)
        self.bad("trimmed-mean does not take --weights", "aggregate", "trimmed-mean", "--weights", data, *out, data)
        self.bad("nan.csv: [Cc]olumn 1 has no observation", "aggregate", "median", "--non-finite", "robust", *out,
                 self.file("nan.csv", "nan,1\nnan,2\n"))
        self.bad("both name .*out.csv", "aggregate", "mean", *out[:2], "--stats", out[1], data)
        self.bad("name of a file is empty", "aggregate", "mean", "")
        self.bad("--f is 0.5", "aggregate", "trimmed-mean", "--f", 0.5, *out, data)
        self.bad("--f is not a parameter of median, which has none", "aggregate", "median", "--f", 1, *out, data)
        self.bad("--p is 0.5", "aggregate", "lp-median", "--p", 0.5, *out, data)
        self.bad("--mu is -1", "aggregate", "huber-location", "--mu", -1, *out, data)
        self.bad("--tol is -1", "aggregate", "geometric-median", "--tol", -1, *out, data)
        self.bad("'medin' is not an aggregator. Did you mean 'median'", "aggregate", "medin", data)
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
        self.bad("median does not take --center", "aggregate", "median", "--center", data, *out, data)
        self.bad("has 2 values where a row of .*data.csv has 3", "aggregate", "clipped-mean",
                 "--center", self.file("center.csv", "1,1\n"), *out, data)


if __name__ == "__main__":
    unittest.main()
