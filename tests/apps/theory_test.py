"""medgrad theory, end to end.

Run by CTest as: theory_test.py MEDGRAD.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

MEDGRAD = ""
SMOOTH = ("smooth", "--L", 1, "--gap", 5, "--T", 100)
LIPSCHITZ = ("lipschitz", "--G", 1, "--D", 1, "--T", 100)
SPP = ("spp", "--D", 3, "--T", 4)


def run(*arguments):
    return subprocess.run([MEDGRAD, "theory", *map(str, arguments)], capture_output=True,
                          timeout=60, check=False)


class Theory(unittest.TestCase):
    def good(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def json(self, *arguments):
        return json.loads(self.good(*arguments, "--format", "json"))

    def bad(self, sentence, *arguments):
        result = run(*arguments)
        error = result.stderr.decode()
        with self.subTest(arguments=arguments, error=error):
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertTrue(re.fullmatch(r"medgrad: [^\n]+[.?]\n", error))
            self.assertRegex(error, sentence)

    def test_help(self):
        text = self.good("--help")
        self.assertTrue(text.startswith("usage: medgrad theory "))
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        for action in ("cn", "smooth", "lipschitz", "spp"):
            self.assertRegex(text, rf"\n  {action} +\w")

    def test_cn(self):
        one = self.json("cn", "--alpha", 1.1, "--n", 1)
        self.assertEqual((one["alpha"], one["n"], one["C_n"]), (1.1, 1, "inf"))
        self.assertAlmostEqual(one["E_abs"], 2 / math.pi * math.gamma(1 - 1 / 1.1), delta=1e-10)
        self.assertEqual((one["smallest_n"], one["smallest_n_abs"]), (3, 1))
        five = self.json("cn", "--alpha", 1.1, "--n", 5)
        self.assertAlmostEqual(five["C_n"], 0.969657596527097, delta=1e-12)
        self.assertAlmostEqual(five["E_abs"], 0.6673367369094656, delta=1e-12)
        gauss = self.json("cn", "--alpha", 2, "--n", 1)
        self.assertAlmostEqual(gauss["C_n"], 2, delta=1e-12)
        cauchy = self.json("cn", "--alpha", 1, "--n", 1)
        self.assertEqual((cauchy["E_abs"], cauchy["mean"]), ("inf", "nan"))

    def test_cn_of_a_list_is_that_of_each(self):
        every = self.json("cn", "--alpha", 1.5, "--n", "3,101,10001")
        self.assertEqual(every, [self.json("cn", "--alpha", 1.5, "--n", n) for n in (3, 101, 10001)])
        lines = self.good("cn", "--alpha", 1.5, "--n", "1,3", "--format", "csv").splitlines()
        self.assertEqual(lines[0], "# n,C_n,E_abs,mean,variance")
        self.assertTrue(lines[1].startswith("1,inf,1.70546524015"))
        self.assertEqual(float(lines[2].split(",")[1]),
                         self.json("cn", "--alpha", 1.5, "--n", 3)["C_n"])
        text = self.good("cn", "--alpha", 1.5, "--n", "1,3")
        self.assertIn("C_n is finite from n = 3 on", text)
        self.assertIn("assumptions:", text)

    def test_cn_of_skewed_laws(self):
        # S1 has its mean at 0, S0 is S1 moved by tan(3 pi/4) = -1: S0 - S1 = +1 for beta = 1.
        s0, s1 = (self.json("cn", "--alpha", 1.5, "--beta", 1, "--form", form, "--n", 7)
                  for form in ("S0", "S1"))
        self.assertAlmostEqual(s0["mean"] - s1["mean"], 1, delta=1e-9)
        self.assertAlmostEqual(s0["variance"], s1["variance"], delta=1e-10)
        self.assertLess(s1["mean"], 0)

    def test_smooth(self):
        found = self.json(*SMOOTH, "--alpha", 1.1, "--n", 5, "--d", 10, "--c-1", 2, "--c-2", 3)
        factor = 0.969657596527097 * 10 ** (0.9 / 1.1)
        self.assertAlmostEqual(found["sigma_1"] ** 2, 2 * factor, delta=1e-9)
        self.assertAlmostEqual(found["sigma_2"], 3 * factor, delta=1e-9)
        eta_max = 1 / (8 * (1 + 6 * factor))
        self.assertAlmostEqual(found["eta_max"], eta_max, delta=1e-12)
        self.assertAlmostEqual(found["eta"], eta_max / 10, delta=1e-12)
        bound = 20 / (found["eta"] * 100) + 8 * found["eta"] * 2 * factor
        self.assertAlmostEqual(found["bound"], bound, delta=1e-9)
        diagonal = self.json(*SMOOTH, "--alpha", 1.1, "--n", 5, "--d", 10, "--diagonal")
        self.assertEqual(diagonal["rho_alpha"], 1)
        given = self.json(*SMOOTH, "--delta-1", 0.5, "--sigma-1", 2, "--epsilon", 0.1, "--eta", 0.1)
        self.assertAlmostEqual(given["bound"], 2 + 0.8 * (0.01 + 0.25 + 4) + 4 * 0.26, delta=1e-12)

    def test_lipschitz(self):
        theorem = self.json(*LIPSCHITZ, "--delta", 0.1, "--sigma", 2)
        self.assertAlmostEqual(theorem["bound_best"], 2 * math.sqrt(5.21 / 100 + 0.005), delta=1e-12)
        self.assertAlmostEqual(theorem["bound"], theorem["bound_best"], delta=1e-12)
        self.assertAlmostEqual(theorem["eta_simple"], 0.05, delta=1e-15)
        self.assertAlmostEqual(theorem["bound_simple"], 0.701 + 0.3, delta=1e-12)
        median = self.json(*LIPSCHITZ, "--alpha", 1.1, "--n", 5, "--epsilon", 0.5)
        self.assertEqual(median["delta"], 0.5)
        self.assertAlmostEqual(median["sigma"] ** 2, 2 * 0.969657596527097 + 2, delta=1e-10)

    def test_spp(self):
        found = self.json(*SPP, "--G", 2, "--tau", 0.5)
        self.assertEqual((found["start"], found["spread"], found["bound"]), (2.25, 1.25, 3.5))
        norm = self.json(*SPP, "--p", 1, "--d", 4, "--tau", 0.5, "--n", 7)
        self.assertEqual((norm["G"], norm["bound"], norm["distance_bound"]), (2, 3.5, 24.5))
        self.assertEqual(self.json(*SPP, "--p", "inf", "--d", 4)["G"], 1)

    def test_formats_hold_the_same_numbers(self):
        for arguments in ((*SMOOTH, "--sigma-1", 1), (*LIPSCHITZ, "--sigma", 1), (*SPP, "--G", 1)):
            found = self.json(*arguments)
            self.assertTrue(all(isinstance(line, str) for line in found.pop("assumptions")))
            csv = dict(line.split(",") for line in
                       self.good(*arguments, "--format", "csv").splitlines()[1:])
            self.assertEqual({name: float(value) for name, value in csv.items()}, found)
            text = self.good(*arguments)
            for name, value in csv.items():
                self.assertRegex(text, rf"\n  {name} +{re.escape(value)}( |\n)")
            self.assertIn("\nassumptions:\n  - ", text)

    def test_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cn.json")
            text = self.good("cn", "--alpha", 1.5, "--n", 3, "--format", "json")
            self.assertEqual(self.good("cn", "--alpha", 1.5, "--n", 3, "--format", "json", "--out",
                                       path), "")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), text)

    def test_bad(self):
        self.bad("cn, smooth, lipschitz or spp")
        self.bad("Did you mean 'smooth'", "smoth")
        self.bad("needs --alpha", "cn", "--n", 3)
        self.bad("needs --n", "cn", "--alpha", 1.5)
        self.bad("--n is 4; .* odd", "cn", "--alpha", 1.5, "--n", "3,4")
        self.bad("--n is '3,', in which an entry is empty", "cn", "--alpha", 1.5, "--n", "3,")
        self.bad("--n is '1.5'", "cn", "--alpha", 1.5, "--n", 1.5)
        self.bad("--n is '0'", "cn", "--alpha", 1.5, "--n", 0)
        self.bad("--alpha is 3; it must satisfy 0 < alpha <= 2", "cn", "--alpha", 3, "--n", 3)
        self.bad("--alpha is 0.05; .* 0.1", "cn", "--alpha", 0.05, "--n", 101)
        self.bad("--beta is 2;", "cn", "--alpha", 1.5, "--beta", 2, "--n", 3)
        self.bad("--form is 'S2'", "cn", "--alpha", 1.5, "--form", "S2", "--n", 3)
        self.bad("--tau is not an option of theory cn", "cn", "--alpha", 1.5, "--n", 3, "--tau", 1)
        self.bad("text, json or csv", "cn", "--alpha", 1.5, "--n", 3, "--format", "npy")
        self.bad("needs --L", "smooth", "--gap", 1, "--T", 1)
        self.bad("needs the noise", *SMOOTH)
        self.bad("needs --n", *SMOOTH, "--alpha", 1.5)
        self.bad("which needs --alpha", *SMOOTH, "--d", 3)
        self.bad("both describe the noise", *SMOOTH, "--alpha", 1.5, "--n", 3, "--sigma-1", 1)
        self.bad("--n is 3; C_n is infinite .* at least 5", *SMOOTH, "--alpha", 1, "--n", 3)
        self.bad("--delta-2 is 0.2; .* at most 1/8", *SMOOTH, "--delta-2", 0.2)
        self.bad("--eta is 0.2; .* at most .* = 0.125", *SMOOTH, "--sigma-1", 1, "--eta", 0.2)
        self.bad("--sigma-1 is -1;", *SMOOTH, "--sigma-1", -1)
        self.bad("--sigma-1 is 'x'", *SMOOTH, "--sigma-1", "x")
        self.bad("--diagonal needs --alpha", *SMOOTH, "--sigma-1", 1, "--diagonal")
        self.bad("--G is 0;", "lipschitz", "--G", 0, "--D", 1, "--T", 1, "--sigma", 1)
        self.bad("--alpha cannot be given", *LIPSCHITZ, "--sigma", 1, "--alpha", 1.5, "--n", 3)
        self.bad("--T is '0'", "lipschitz", "--G", 1, "--D", 1, "--T", 0, "--sigma", 1)
        self.bad("either --G, .* or --p", *SPP)
        self.bad("either --G, .* or --p", *SPP, "--G", 1, "--p", 1)
        self.bad("--p is 0.5", *SPP, "--p", 0.5)
        self.bad("only for --p 1", *SPP, "--p", 2, "--n", 3)
        self.bad("--tau is 0;", *SPP, "--G", 1, "--tau", 0)


if __name__ == "__main__":
    MEDGRAD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
