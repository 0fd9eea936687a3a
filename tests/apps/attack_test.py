"""medgrad attack, end to end: what it writes is what the formulas say, and can be given to aggregate.

Run by CTest as: attack_test.py MEDGRAD.
"""

import json
import re
import unittest

import numpy as np

from command import CommandTest, run, table

HONEST = np.array([[1.0, 2.0, -1.0], [2.0, 4.0, -1.5], [3.0, 0.0, -0.5], [2.0, 2.5, -1.0], [1.5, 1.0, -2.0]])


class Attacks(CommandTest):
    def honest(self, name="honest.csv"):
        return self.file(name, "".join(",".join(map(repr, row)) + "\n" for row in HONEST.tolist()))

    def lies(self, *arguments):
        return np.array(table(self.good("attack", *arguments, self.honest())))

    def test_formulas(self):
        mean, deviation = HONEST.mean(0), HONEST.std(0)
        for arguments, row in ((["sign-flip"], -mean), (["ipm"], -0.5 * mean), (["ipm", "--strength", 10], -10 * mean),
                               (["ipm:strength=3"], -3 * mean), (["alie", "--strength", 1.5], mean - 1.5 * deviation),
                               (["mimic"], HONEST[0]), (["mimic", "--row", 4], HONEST[4]),
                               (["constant"], np.full(3, 100.0)), (["constant:strength=-2"], np.full(3, -2.0)),
                               (["nan"], np.full(3, np.nan)), (["inf"], np.full(3, np.inf))):
            with self.subTest(arguments=arguments):
                np.testing.assert_allclose(self.lies(*arguments, "--f", 2), [row, row], rtol=1e-14)
        # Five honest, three liars: s = 5 - 3 honest rows make a majority, and Phi(z) = 3/5.
        np.testing.assert_allclose(self.lies("alie", "--f", 3)[0], mean - 0.2533471031357997 * deviation, rtol=1e-12)

    def test_random_ones_follow_the_seed(self):
        for name in ("gaussian", "bit-flip"):
            first = self.good("attack", name, "--f", 3, self.honest())
            self.assertEqual(first, self.good("attack", name, "--f", 3, "--seed", 0, self.honest()))
            self.assertEqual(first, self.good("attack", name, "--f", 3, "--threads", 1, self.honest()))
            self.assertNotEqual(first, self.good("attack", name, "--f", 3, "--seed", 1, self.honest()))
        flipped = self.lies("bit-flip", "--f", 7)
        self.assertTrue(((flipped != HONEST[[0, 1, 2, 3, 4, 0, 1]]).sum(1) == 1).all())
        self.assertLess(abs(self.lies("gaussian", "--f", 500, "--strength", 3).std() - 3), 0.3)

    def test_silent_workers_send_nothing(self):
        result = run("attack", "silent", "--f", 2, self.honest())
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        self.assertIn(b"send nothing", result.stderr)
        out = self.path("out.npy")
        self.good("attack", "silent", "--f", 2, "--out", out, self.honest())
        self.assertEqual(np.load(out).shape, (0, 3))
        self.assertEqual(self.good("attack", "sign-flip", "--f", 0, self.honest()), b"")

    def test_optimal_against_a_rule_with_a_centre(self):
        center, f = np.array([5.0, -3.0, 2.0]), 2
        mean = HONEST.mean(0)

        def moved(strength):
            v = center
            for _ in range(3):
                x = np.vstack([HONEST, [-strength * mean] * f]) - v
                v = v + (x * np.minimum(1, 0.7 / np.linalg.norm(x, axis=1))[:, None]).mean(0)
            return np.linalg.norm(v - mean)
        rule = ("ipm", "--f", f, "--strength", "optimal", "--against", "centered-clipping:clip=0.7:iterations=3")
        file = self.file("center.csv", "5,-3,2\n")
        lie = self.lies(*rule, "--center", file)[0]
        strength = -lie[0] / mean[0]
        most = max(moved(s) for s in np.geomspace(1 / 16, 256, 2000))
        self.assertGreater(moved(strength), 0.99 * most)
        said = run("attack", *rule, "--center", file, self.honest()).stderr.decode()
        distance = float(re.search(r"takes the result of .* (\S+) away", said)[1])
        self.assertAlmostEqual(distance / moved(strength), 1, places=3)
        self.bad("krum does not take --center", "attack", "ipm", "--f", 1, "--strength", "optimal", "--against", "krum",
                 "--center", file, self.honest())
        self.bad("--center is that of the rule of --against", "attack", "ipm", "--f", 1, "--center", file, self.honest())

    def test_files_and_types(self):
        data = self.file("honest.npy", HONEST.astype(np.float32))
        out = self.path("lies.npy")
        self.good("attack", "ipm", "--f", 2, "--out", out, data)
        self.assertEqual(np.load(out).dtype, np.float32)
        np.testing.assert_allclose(np.load(out), -0.5 * np.array([HONEST.mean(0)] * 2), rtol=1e-6)
        named = self.file("named.csv", "a,b\n1,2\n3,4\n")
        self.assertEqual(self.good("attack", "sign-flip", "--f", 1, "--header", named), b"a,b\n-2,-3\n")
        self.assertEqual(self.good("attack", "sign-flip", "--f", 1, stdin=b"1,2\n3,4\n"), b"-2,-3\n")
        lies = json.loads(self.good("attack", "nan", "--f", 1, "--format", "json", named))
        self.assertEqual(np.shape(lies), (1, 2))

    def test_optimal_strengths_beat_given_ones(self):
        honest = self.honest()

        def harm(rule, *arguments):
            lies = self.path("lies.csv")
            self.good("attack", *arguments, "--f", 2, "--out", lies, honest)
            result = np.array(table(self.good("aggregate", rule, honest, lies)))[0]
            return np.linalg.norm(result - HONEST.mean(0))

        for rule in ("trimmed-mean:f=2", "median", "krum:f=2", "nnm+median:f=2"):
            name = rule.split(":")[0]  # which is told f
            for attack in ("alie", "ipm"):
                most = harm(rule, attack, "--strength", "optimal", "--against", name)
                for strength in (0.25, 0.5, 1, 2, 4, 8):
                    self.assertLessEqual(harm(rule, attack, "--strength", strength), most * (1 + 1e-8))
        said = run("attack", "alie:strength=optimal", "--f", 2, "--against", "median", honest).stderr.decode()
        self.assertRegex(said, r"strength [0-9.]+, the best of [0-9]+ tried, takes the result of median [0-9.]+ away")

    def test_not_finite(self):
        data = self.file("x.csv", "1,2\nnan,4\n3,6\n")
        self.bad(r"x.csv:2: component 1 is nan; use --non-finite robust", "attack", "ipm", "--f", 1, data)
        robust = ["--f", 1, "--non-finite", "robust", data]
        self.assertEqual(table(self.good("attack", "sign-flip", *robust)), [[-2, -4]])
        self.bad("x.csv: Column 2 has no observation", "attack", "ipm", *robust[:-1],
                 self.file("x.csv", "1,nan\n2,nan\n"))

    def test_bad(self):
        data = self.honest()
        self.bad("ATTACK is missing; it must be one of sign-flip", "attack")
        self.bad("'sign-flop' is not an attack. Did you mean 'sign-flip'", "attack", "sign-flop", "--f", 1, data)
        self.bad("--f is missing; attack needs it", "attack", "alie", data)
        self.bad("--f is '-1'", "attack", "alie", "--f", -1, data)
        self.bad("--f is '1.5'", "attack", "alie", "--f", 1.5, data)
        self.bad("--f is 'auto'", "attack", "alie", "--f", "auto", data)
        self.bad("--f is 1000001; it must be at most 1000000", "attack", "alie", "--f", 1000001, data)
        self.bad("--strength is 'much'; it must be a number or optimal", "attack", "alie", "--f", 1, "--strength", "much",
                 data)
        self.bad("--strength is -1; it must satisfy 0 <= strength", "attack", "ipm", "--f", 1, "--strength", -1, data)
        self.bad("--strength is 'optimal'; it must be a number", "attack", "constant", "--f", 1, "--strength", "optimal",
                 data)
        self.bad("--strength is not a parameter of nan, which has none", "attack", "nan", "--f", 1, "--strength", 1, data)
        self.bad("--row is 5; rows are counted from 0, and with 5 rows it must be at most 4", "attack", "mimic", "--f", 1,
                 "--row", 5, data)
        self.bad("label-flip takes data with labels", "attack", "label-flip", "--f", 1, data)
        self.bad("optimal is found against an aggregator; name it with --against", "attack", "alie", "--f", 1,
                 "--strength", "optimal", data)
        self.bad("--against is the rule that", "attack", "alie", "--f", 1, "--against", "median", data)
        optimal = ["attack", "alie", "--strength", "optimal"]
        self.bad("'medain' is not an aggregator. Did you mean 'median'", *optimal, "--f", 1, "--against", "medain", data)
        self.bad("--against krum: f is 4; with 9 rows it must be at most 3", *optimal, "--f", 4, "--against", "krum", data)
        self.bad("--against krum:f=9: f is 9; with 6 rows", *optimal, "--f", 1, "--against", "krum:f=9", data)
        self.bad("--f is 30000; with 40000 components a row it must be at most 25000", "attack", "nan", "--f", 30000,
                 self.file("long.npy", np.zeros((1, 40000), np.float32)))
        self.bad("empty.csv", "attack", "alie", "--f", 1, self.file("empty.csv", ""))

    def test_it_is_listed_and_explained(self):
        listed = json.loads(self.good("list", "attacks", "--format", "json"))["attacks"]
        self.assertEqual([one["name"] for one in listed],
                         ["sign-flip", "alie", "ipm", "gaussian", "constant", "nan", "inf", "mimic", "label-flip",
                          "bit-flip", "silent"])
        text = self.good("help", "attack").decode()
        for word in ("--against", "--strength", "sign-flip", "optimal"):
            self.assertIn(word, text)
        self.assertIn("standard deviations", self.good("attack", "alie", "--help").decode())


if __name__ == "__main__":
    unittest.main()
