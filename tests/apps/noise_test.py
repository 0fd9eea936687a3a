"""medgrad noise, end to end.

Run by CTest as: noise_test.py MEDGRAD.
"""

import json
import os
import pathlib
import subprocess
import unittest

import numpy as np

from command import MEDGRAD, CommandTest, run, table


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

    def test_points_and_quantiles_of_any_size(self):
        # x / scale = 1e309 is no double. Gamma(0.95) sin(0.475 pi) / pi times its power.
        tail = table(self.good("noise", "survival", "--alpha", 0.95, "--scale", 1e-3, "--x", 1e306))[0][1]
        self.assertAlmostEqual(np.log(tail), np.log(0.32730968147875) - 0.95 * 309 * np.log(10), places=6)
        for action, value in ("cdf", 1), ("pdf", tail * 0.95 / 1e306):
            rows = table(self.good("noise", action, "--alpha", 0.95, "--scale", 1e-3, "--x", 1e306))
            self.assertEqual(rows[0][1], value)
        # The Cauchy quantile is -1 / (pi p), past the largest double.
        rows = table(self.good("noise", "quantile", "--alpha", 1, "--x", "1e-310,3e-309"))
        self.assertEqual(rows[0][1], -np.inf)
        np.testing.assert_allclose(rows[1][1], -1 / np.pi / 3e-309, rtol=1e-12)

    def test_samples_depend_on_seed_and_place_alone(self):
        def sample(*options):
            return self.good("noise", "sample", "--alpha", 1.5, "-d", 3, *options)
        whole = sample("-n", 100000, "--seed", 7, "--threads", 1)
        self.assertEqual(sample("-n", 100000, "--seed", 7, "--threads", 2), whole)
        self.assertTrue(whole.startswith(sample("-n", 10, "--seed", 7)))
        self.assertNotEqual(sample("-n", 10, "--seed", 8), sample("-n", 10, "--seed", 7))
        self.assertNotEqual(sample("-n", 10, "--stream", 1), sample("-n", 10))
        self.assertEqual(sample("-n", 0), b"")

    def test_whole_numbers_may_have_a_power_of_ten(self):
        def sample(n, seed=0):
            return self.good("noise", "sample", "--alpha", 1.5, "-n", n, "--seed", seed)
        for n in ("1.5e1", "15.0", "150e-1", "0.15E+2", "15e0", "00015"):
            self.assertEqual(sample(n), sample(15), n)
        self.assertEqual(sample("0e999999999999"), b"")
        # Digits are kept that a double would lose.
        self.assertEqual(sample(1, "1.8446744073709551615e19"), sample(1, 2**64 - 1))
        for n in ("1.5", "1e-1", "-1e2", "1e", "e3", "1e+-3", "1.2.3e5", "0x10", ".", "1e1.5", " 1", "inf", "1e-999999999999"):
            self.bad("-n is '.*'; it must be a whole number, 0 or more", "noise", "sample", "--alpha", 1, f"-n={n}")
        for n in ("1.8446744073709551616e19", "1e20", "1e999999999999"):
            self.bad("-n is '.*', which is too large", "noise", "sample", "--alpha", 1, "-n", n)

    def test_fit_finds_what_was_sampled(self):
        data = self.path("noise.npy")
        self.good("noise", "sample", "--alpha", 1.4, "--scale", 3, "-n", 20000, "--out", data)
        result = json.loads(self.good("noise", "fit", data, "--format", "json"))
        # The 95 % interval is 0.025 to either side, so its standard error 0.0125: four of them.
        self.assertLess(abs(result["alpha"] - 1.4), 0.05)
        self.assertEqual((result["infinite_variance"], result["stable_fits"], result["advice"]), ("yes", True, "median"))
        self.assertLess(abs(result["tail-index"] - 1.4), 0.045)  # four standard errors again
        self.assertTrue(result["verdict"].startswith("Use a median-type estimator: in batches of 10 "), result["verdict"])
        text = run("noise", "fit", data, "--batch", 4)
        self.assertIn(b"Use a median-type estimator: in batches of 4 ", text.stderr)
        self.assertEqual(text.stdout.splitlines()[1].split(b",")[0], b"alpha")
        self.assertEqual((next(iter(result)), result["method"]), ("verdict", "ml"))
        for method in ("cf", "koutrouvelis", "kogon-williams", "quantiles"):
            other = json.loads(self.good("noise", "fit", data, "--method", method, "--format", "json"))
            self.assertEqual(other["method"], method)
            # They are of one sample, so nearer to each other than five errors of one.
            for name, error in other["errors"].items():
                self.assertLess(abs(other[name] - result[name]), 5 * error, (method, name))

    def test_p_values_are_simulated(self):
        values = np.random.default_rng(5).standard_cauchy(400)
        data = self.file("cauchy.npy", values)
        result = json.loads(self.good("noise", "fit", data, "--format", "json"))
        self.assertEqual(result["bootstrap"], 199)
        # (1 + how many of 199) / 200, twice where the tail is tested too.
        self.assertAlmostEqual(result["p_value"] * 200 % 1, 0, places=6)
        self.assertTrue(result["stable_fits"])
        for threads in 1, 3:
            self.assertEqual(json.loads(self.good("noise", "fit", data, "--format", "json", "--threads", threads)), result)
        self.assertIn(b", by 39 simulated samples)", self.good("noise", "fit", data, "--bootstrap", 39))
        plain = json.loads(self.good("noise", "fit", data, "--format", "json", "--bootstrap", 0))
        self.assertNotIn("bootstrap", plain)
        self.assertLess(abs(plain["p_value"] - result["p_value"]), 0.3)  # four standard errors of twice a share of 199

    def test_a_long_vector_is_not_held(self):
        # A thousand numbers among missing ones: what memory it takes is that of reading.
        block = np.full(20_000, np.nan, np.float32)
        with open(self.path("long.npy"), "wb") as out:
            np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": (1000 * block.size,)})
            for number in np.random.default_rng(5).standard_normal(1000):
                block[7] = number
                out.write(block.tobytes())
        process = subprocess.Popen([MEDGRAD, "noise", "fit", self.path("long.npy"), "--bootstrap", "0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        text = process.stdout.read().decode()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertIn("# advice: mean", text)
        self.assertLess(usage.ru_maxrss, 75_000)  # kilobytes, where the file has 80,000; some are those of this process

    def test_report_has_the_pictures(self):
        page = self.path("tails.html")
        values = np.random.default_rng(2).standard_t(2, 500)
        plain = self.good("noise", "fit", self.file("t.npy", values[:, None]))
        self.assertEqual(self.good("noise", "fit", self.path("t.npy"), "--report", page), plain)
        text = pathlib.Path(page).read_text(encoding="utf-8")
        for words in ("Hill plot", "Mean excess over a threshold", "Quantiles against the fitted stable law",
                      "tail index that was found", "Use a median-type estimator"):
            self.assertIn(words, text)
        # A vector is a column; the command to do it again has what the answers depend on.
        self.assertEqual(self.good("noise", "fit", self.file("vector.npy", values), "--report", page, "--batch", 5, "--method", "cf"),
                         self.good("noise", "fit", self.path("t.npy"), "--batch", 5, "--method", "cf"))
        text = pathlib.Path(page).read_text(encoding="utf-8")
        self.assertIn("--batch 5 --method cf", text)
        for words in ("infinite variance", "advice", "mean-squared-error-huber", "generalised Pareto law"):
            self.assertIn(words, text)
        # Few numbers, ties and infinities draw what there is.
        odd = np.append(np.round(values[:60]), [np.inf, np.nan])
        self.good("noise", "fit", self.file("odd.npy", odd[:, None]), "--report", page)

    def test_report_of_vectors(self):
        page = self.path("rows.html")
        rows = np.random.default_rng(3).standard_normal((400, 40))
        rows[:, 5] = np.random.default_rng(4).standard_cauchy(400)
        rows[7, 2], rows[8, 3] = np.nan, np.inf
        data = self.file("rows.npy", rows)
        self.assertEqual(self.good("noise", "fit", data, "--report", page), self.good("noise", "fit", data))
        text = pathlib.Path(page).read_text(encoding="utf-8")
        for words in ("Norms of rows around their median", "Hill plot", "Mean excess over a threshold", "generalised Pareto law",
                      "Quantiles against the fitted generalised Pareto law", "Component 6, whose tail is the heaviest",
                      "Quantiles against the fitted stable law", "component 6 (infinite variance: yes, advice: median)",
                      "(infinite variance: no, advice: mean)", "xi-directions", "xi-scaled-norms"):
            self.assertIn(words, text)
        self.assertEqual(text.count("component "), 32)  # the heaviest of 40
        # From standard input, few rows without a spread, and numbers side by side.
        self.good("noise", "fit", "--report", page, stdin="".join(f"{a},{b}\n" for a, b in rows[:30, :2]).encode())
        self.good("noise", "fit", self.file("few.npy", np.append(rows[:25, 10:12], np.ones((25, 1)), axis=1)), "--report", page)
        self.good("noise", "fit", self.file("line.csv", ",".join(map(repr, rows[:30, 0].tolist())) + "\n"), "--report", page)
        self.assertIn("Quantiles against the fitted stable law", pathlib.Path(page).read_text(encoding="utf-8"))

    def test_every_model_can_be_sampled(self):
        names = [noise["name"] for noise in json.loads(self.good("list", "noises", "--format", "json"))["noises"]]
        for name in names:
            alpha = ("--alpha", 1.2) if name in ("stable", "elliptical") else ()
            rows = np.array(table(self.good("noise", "sample", "--model", name, "-n", 50, "-d", 4, *alpha)))
            self.assertEqual(rows.shape, (50, 4))
            self.assertTrue(np.isfinite(rows).all())

    def test_no_rows_have_a_shape(self):
        out = self.path("none.npy")
        self.good("noise", "sample", "--alpha", 1.5, "-n", 0, "-d", 3, "--out", out)
        self.assertEqual(np.load(out).shape, (0, 3))

    def test_fit_counts_what_is_not_finite(self):
        values = np.append(np.random.default_rng(1).standard_normal(200), [np.nan, np.nan, np.inf])
        data = self.file("x.npy", values[:, None])
        result = json.loads(self.good("noise", "fit", data, "--format", "json"))
        self.assertEqual((result["nan"], result["inf"]), (2, 1))
        self.assertIn(b"2 entries are NaN and 1 is infinite.", run("noise", "fit", data).stderr)
        self.assertEqual((result["infinite_variance"], result["advice"]), ("yes", "median"))

    def test_every_answer_is_there(self):
        rng = np.random.default_rng(8)
        sparse = np.where(rng.random(300) < 0.6, 0, rng.standard_normal(300))
        half = np.where(np.arange(300) < 160, np.inf, rng.standard_normal(300))
        few = rng.standard_normal((10, 4))
        few[3, 2] = np.inf
        for values in (sparse[:, None], half[:, None], few, rng.standard_normal((40, 3)), rng.poisson(1, (300, 1))):
            data = self.file("any.npy", np.asarray(values, float))
            result = json.loads(self.good("noise", "fit", data, "--format", "json"))
            for name in ("infinite_variance", "stable_fits", "p_value", "advice", "bias", "verdict", "skewed", "batch",
                         "mean_squared_errors", "spread", "tail-index"):
                self.assertIn(name, result)
            self.assertEqual((type(result["stable_fits"]), type(result["p_value"])), (bool, float))
            if not np.isfinite(values).all():
                self.assertEqual(result["infinite_variance"], "yes")
                self.assertNotEqual(result["advice"], "mean")
            self.assertRegex(result["verdict"], r"^[A-Z].*\.$")

    def test_lines_have_the_answers(self):
        values = np.random.default_rng(9).exponential(size=2000)
        text = self.good("noise", "fit", self.file("e.npy", values[:, None])).decode()
        for line in ("# infinite variance: no", "# a stable law fits: no (p = ", "# advice: mean", "# no tail index: alpha, log-moment",
                     "mean-squared-error-median,", "bias,-0.4", "docs/when-to-use.md"):
            self.assertIn(line, text)
        # Hill's estimator of a Gaussian tail stays in the tail.
        gauss = self.file("g.npy", np.random.default_rng(9).standard_normal((3000, 1)))
        hill = json.loads(self.good("noise", "fit", gauss, "--format", "json"))["tails"]["left"]["hill"]
        self.assertLess(hill["xi"], 0.6)

    def test_fit_of_rows_names_the_heaviest_components(self):
        random = np.random.default_rng(3)
        rows = random.standard_normal((400, 40))
        rows[:, 22] = random.standard_cauchy(400)
        components = json.loads(self.good("noise", "fit", self.file("rows.npy", rows), "--format", "json"))["components"]
        self.assertEqual((len(components), components[0]["component"]), (32, 23))
        self.assertLess(abs(components[0]["xi"] - 1), 0.5)
        self.assertTrue(components[0]["interval"][0] < components[0]["xi"] < components[0]["interval"][1])

    def test_fit_of_skewed_numbers_names_the_bias(self):
        values = np.random.default_rng(1).exponential(size=3000)
        result = json.loads(self.good("noise", "fit", self.file("skewed.npy", values[:, None]), "--format", "json"))
        # The median of an exponential law is log 2, its mean 1, its spread 1.4826 * 0.4812 (of the solution of sinh s = 1/2).
        self.assertLess(abs(result["bias"] - (np.log(2) - 1) / (1.4826 * np.arcsinh(0.5))), 0.1)
        self.assertEqual((result["infinite_variance"], result["stable_fits"], result["advice"]), ("no", False, "mean"))
        self.assertRegex(result["verdict"], "skewed, the median lies 0.4[0-9]? spreads below the mean")

    def test_bad(self):
        short = self.file("short.csv", "1\n2\n3\n")
        for arguments, words in [
                ((), "ACTION is missing; medgrad noise needs one: sample"),
                (("pfd", "--alpha", 1), "Did you mean 'pdf'"),
                (("pdf", "--x", 1), "--alpha is missing; stable needs it"),
                (("pdf", "--alpha", 0, "--x", 1), "--alpha is 0"),
                (("pdf", "--alpha", 2.5, "--x", 1), "--alpha is 2.5"),
                (("pdf", "--alpha", 0.05, "--x", 1), "--alpha is 0.05; .* from 0.1 on"),
                (("pdf", "--alpha", 1, "--beta", 2, "--x", 1), "--beta is 2"),
                (("pdf", "--alpha", 1, "--scale", 0, "--x", 1), "--scale is 0"),
                (("pdf", "--alpha", 1, "--form", "S2", "--x", 1), "S2"),
                (("pdf", "--alpha", 1, "--x", "1,,2"), "--x is '1,,2', in which an entry is empty"),
                (("sample", "--model", "stable:alpha=1", "--alpha", 1), "'stable:alpha=1' and --alpha both give alpha"),
                (("sample", "--model", "stable:alpha=1:form=S1", "--form", "S0"), "and --form both give form"),
                (("sample", "--model", "cauchy", "--form", "S0"), "--form is not a parameter of cauchy"),
                (("pdf", "--alpha", 1, "--x", "1,a"), "'a'"),
                (("pdf", "--alpha", 1, "--x", "1,"), "--x"),
                (("quantile", "--alpha", 1, "--x", 1.5), "1.5"),
                (("sample", "--alpha", 1, "-n", -1), "-n"),
                (("sample", "--alpha", 1, "-d", 0), "-d"),
                (("sample", "--model", "cauchi"), "cauchy"),
                (("sample", "--model", "cauchy", "--beta", 1), "--beta is not a parameter of cauchy, which has scale"),
                (("quantile", "--alpha", 1, self.file("p.csv", "0.5\n2\n")), r"p\.csv:2: 2 is not a probability"),
                (("sample", "--alpha", 1, "-n", "99999999999999999999"), "-n is '9{20}', which is too large"),
                (("fit", short), r"short\.csv: .*20"),
                (("fit", short, "-n", 3), "-n is for noise sample, not for noise fit; leave it out"),
                (("fit", short, "-d", 3), "-d is for noise sample"),
                (("fit", short, "--stream", 3), "--stream is for noise sample"),
                (("fit", short, "--model", "cauchy"), "--model is for noise sample"),
                (("fit", short, "--elliptical"), "--elliptical is for noise sample"),
                (("sample", "--alpha", 1, "--batch", 3), "--batch is for noise fit, not for noise sample"),
                (("pdf", "--alpha", 1, "--x", 1, "--report", self.path("r.html")), "--report is for noise fit"),
                (("cdf", "--alpha", 1, "--x", 1, "--bootstrap", 3), "--bootstrap is for noise fit"),
                (("quantile", "--alpha", 1, "--x", 0.5, "--method", "ml"), "--method is for noise fit"),
                (("pdf", "--alpha", 1, "--x", 1, "-n", 3), "-n is for noise sample"),
                (("fit", short, "--batch", 0), "--batch is '0'"),
                (("fit", short, "--batch", 1e7), "--batch is 1.*; it must be at most 1000000"),
                (("fit", short, "--bootstrap", "x"), "--bootstrap is 'x'"),
                (("fit", short, "--bootstrap", 1e7), "--bootstrap is 1.*; it must be at most 1000000"),
                (("fit", self.file("rows.csv", "1,2\n3,4\n"), "--bootstrap", 9), "--bootstrap is for numbers"),
                (("fit", short, "--method", "kf"), "--method is 'kf'; it must be ml, cf, koutrouvelis, kogon-williams or quantiles"),
                (("fit", self.file("rows.csv", "1,2\n3,4\n"), "--method", "ml"), "rows of vectors.*quantiles only"),
                (("fit", short, "--format", "npy"), "csv or json, not npy"),
                (("fit", short, "--out", self.path("fit.npy")), "csv or json, not npy"),
                (("fit", self.path("no.csv")), "does not exist")]:
            self.bad(words, "noise", *arguments)


if __name__ == "__main__":
    unittest.main()
