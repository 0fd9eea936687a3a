"""Experiments on language models, on made-up data.

Run by CTest as: language_test.py MEDGRAD. With MEDGRAD_DATA set nothing more is run: real data takes
minutes.
"""

import csv
import json
import os
import unittest

from command import CommandTest, content, run

SMALL = ("synthetic", "--size", "small", "--batch", "8,16", "--limit", "12", "--steps", "40", "--no-svg",
         "--threads", "1")  # so small that sharing takes longer


class LanguageTest(CommandTest):
    def results(self, out, name):
        folder = os.path.join(self.path(out), name)
        with open(os.path.join(folder, "results.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return (json.loads(content(os.path.join(folder, "config.json"))),
                json.loads(content(os.path.join(folder, "summary.json"))), rows)


class Gradients(LanguageTest):
    def test_result_folder(self):
        text = self.good("gradients", *SMALL, "--noise", "--out", self.path("out")).decode()
        self.assertIn("CClip falls fastest", text)
        self.assertIn("the full gradient has norm", text)
        config, summary, rows = self.results("out", "gradients-synthetic")
        self.assertEqual({key: config[key] for key in ("task", "size", "batch", "limit", "steps", "tau", "noise")},
                         {"task": "synthetic", "size": "small", "batch": [8, 16], "limit": 12, "steps": 40,
                          "tau": [0.01], "noise": True})
        self.assertEqual({row["method"] for row in summary["rows"] if row["metric"] == "relative_error"},
                         {"momentum", "vclip", "cclip"})
        errors = [float(row["value"]) for row in rows
                  if row["metric"] == "relative_error" and row["method"] == "momentum" and row["batch"] == "8"]
        self.assertLess(errors[-1], errors[0])
        self.assertEqual(sum(row["metric"] == "gradient_error" for row in rows), 24)
        self.assertEqual(len(summary["claims"]), 3 + 2 * 2)
        self.assertTrue(os.path.exists(self.path("out/index.html")))

    def test_same_bytes_again(self):
        self.good("gradients", *SMALL, "--out", self.path("a"), "--memory", "0")
        self.good("run", self.path("a/gradients-synthetic/config.json"), "--no-svg", "--threads", "1",
                  "--out", self.path("b"))
        for file in ("config.json", "results.csv", "summary.json", "figures.json"):
            name = "gradients-synthetic/" + file
            self.assertEqual(content(self.path("a/" + name)), content(self.path("b/" + name)), file)

    def test_mistakes(self):
        out = ("--out", self.path("out"))
        self.bad("TASK is missing", "gradients", *out)
        self.bad("'ptp' is no task; the nearest is 'ptb'", "gradients", "ptp", *out)
        for option, value, sentence in (
                ("--batch", "8,", "values between commas"), ("--batch", "x", "whole number, 1 or more"),
                ("--batch", "8,8", "twice"), ("--tau", "0", "above 0"), ("--tau", "5", "momentum"),
                ("--steps", "0", "1 or more"), ("--methods", "vclib", "nearest is 'vclip'"),
                ("--methods", "none", "no methods"), ("--dropout", "1", "below 1"), ("--size", "tiny", "paper or small"),
                ("--limit", "-1", "0 or more"), ("--memory", "-1", "GiB"), ("--batch", "999999", "too large"),
                ("--colour", "red", "no option")):
            self.bad(sentence, "gradients", "synthetic", option, value, *out)
        self.file("place", "no folder")
        self.bad("place", "gradients", *SMALL, "--out", self.path("place"))
        missing = run("gradients", "ptb", *out, env={**os.environ, "MEDGRAD_DATA": self.folder.name,
                                                     "XDG_DATA_HOME": self.folder.name})
        self.assertEqual(missing.returncode, 2)
        self.assertRegex(missing.stderr.decode(), r"^medgrad: [^\n]*ptb[^\n]*\.\n$")


class Reproduce(LanguageTest):
    def test_changed_settings(self):
        """The paper's experiment with a task of made-up text in the place of the real one."""
        self.good("reproduce", "fixed-ptb", "--print")
        own = json.loads(self.good("reproduce", "fixed-ptb", "--print"))
        own["task"] = "synthetic"
        path = self.file("own.json", json.dumps({**own, "size": "small", "limit": 8, "steps": 20}))
        self.good("run", path, "--no-svg", "--threads", "1", "--out", self.path("out"))
        config, summary, _ = self.results("out", "fixed-ptb")
        self.assertEqual(config["paper_scale"], own["paper_scale"])
        self.assertEqual([claim["claim"] for claim in summary["claims"]],
                         ["CClip falls fastest, then VClip", "momentum is lowest in the long run",
                          "the speed gap grows with the batch size"])

    def test_names(self):
        listed = json.loads(self.good("list", "experiments", "--format", "json"))["experiments"]
        language = [one["name"] for one in listed if "needs libtorch" in one["meaning"]]
        self.assertLessEqual({"fixed-ptb", "fixed-wikitext2", "noise-ptb", "noise-wikitext2", "noise-squad"},
                             set(language))
        tasks = [one["name"] for one in json.loads(self.good("list", "tasks", "--format", "json"))["tasks"]]
        self.assertLess({"ptb", "wikitext2", "squad"}, set(tasks))
        self.assertIn(b"--paper-scale", self.good("reproduce", "fixed-ptb", "--help"))
        self.bad("'toy' is not about a language model", "reproduce", "fixed-ptb", "toy")
        self.bad("nearest is 'fixed-ptb'", "reproduce", "fixed-ptp")
        toy, fixed = (self.file(name + ".json", self.good("reproduce", name, "--print")) for name in ("toy", "fixed-ptb"))
        self.bad("two commands", "run", toy, fixed)
        # A folder may be called like an experiment.
        self.bad("'toi' is no experiment", "reproduce", "toi", "--out", "fixed-ptb")


if __name__ == "__main__":
    unittest.main()
