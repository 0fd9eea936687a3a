"""medgrad reproduce and medgrad run, end to end: the same bytes from any number of threads, every kind of experiment.

Run by CTest as: experiments_test.py MEDGRAD.
"""

import json
import os
import unittest

from command import content
from experiments import FILES, SMALL, ExperimentsTest, read_csv, read_json


class Reproducibility(ExperimentsTest):
    def test_any_number_of_threads_gives_the_same_bytes(self):
        names = ("toy", "least-squares-s2", "huber-ablation", "rates", "moments", "projection")
        outs = [self.path(f"jobs-{jobs}") for jobs in (1, 2, 3)]
        for jobs, out in enumerate(outs, 1):
            self.good("reproduce", *names, "--seeds", 4, "--jobs", jobs, "--out", out, "--no-svg", "--quiet")
        for name in names:
            one = self.bytes_of(outs[0], name)
            self.assertEqual(one, self.bytes_of(outs[1], name))
            self.assertEqual(one, self.bytes_of(outs[2], name))
        # Each by itself is what it is among the others, and its config.json makes it again.
        for name in ("toy", "projection"):
            self.good("reproduce", name, "--seeds", 4, "--out", self.out, "--no-svg", "--quiet")
            self.assertEqual(self.bytes_of(self.out, name), self.bytes_of(outs[0], name))
        again = self.path("again")
        configs = [os.path.join(outs[0], name, "config.json") for name in names]
        self.good("run", *configs, "--out", again, "--no-svg", "--quiet")
        for name in names:
            self.assertEqual(self.bytes_of(again, name), self.bytes_of(outs[0], name))
        self.assertEqual(sorted(os.listdir(again)), sorted([*names, "index.html"]))

    def test_print_can_be_run(self):
        for name in ("toy", "least-squares-s3", "projection"):
            text = self.good("reproduce", name, "--print")
            self.assertTrue(text.startswith("//"))
            self.good("run", self.file("printed.json", text), "--seeds", 2, "--out", self.out, "--no-svg")
            self.good("reproduce", name, "--seeds", 2, "--out", self.path("built-in"), "--no-svg")
            self.assertEqual(self.bytes_of(self.out, name), self.bytes_of(self.path("built-in"), name))
        self.assertFalse(os.path.exists("results"))

    def test_seeds(self):
        for seed in (1, 2):
            self.good("reproduce", "toy", "--seeds", 2, "--seed", seed, "--out", self.path(f"{seed}"), "--no-svg")
            self.check_folder(self.path(f"{seed}", "toy"), runs=2)
            self.assertEqual(read_json(self.path(f"{seed}"), "toy", "config.json")["seed"], seed)
        self.assertNotEqual(content(self.path("1"), "toy", "results.csv"),
                            content(self.path("2"), "toy", "results.csv"))

    def test_seeds_of_every_kind_with_runs(self):
        small = {"byzantine": {"kind": "byzantine", "rules": ["median"], "attacks": ["nan"], "f": 1, "steps": 3,
                               "objective": {"name": "least-squares", "d": 2}},
                 "centered-clipping": {"kind": "centered-clipping", "n": 5, "d": [1], "clip": [1, 0.5]}}
        for name, keys in small.items():
            file = self.file("own.json", {"experiment": name, **keys})
            self.good("run", file, "--seeds", 3, "--out", self.out, "--no-svg", "--replace")
            self.assertEqual(read_json(self.out, name, "config.json")["seeds"], 3)
            self.assertEqual({row["runs"] for row in read_json(self.out, name, "summary.json")["rows"]
                              if "runs" in row} - {3}, set())

    def test_figures(self):
        text = self.good("reproduce", "projection", "--pdf", "--out", self.out)
        self.assertRegex(text, r"^projection: .*\n(.*\n)*1 experiment in .* report: .*index\.html\n$")
        files = os.listdir(os.path.join(self.out, "projection"))
        self.assertTrue({*FILES, "projection.svg", "projection.pdf"} <= set(files), files)
        self.assertIn(b"<svg", content(self.out, "projection", "projection.svg"))
        self.assertIn(b"projection", content(self.out, "index.html"))
        # Drawn before, not asked for now: gone, as the rest of the old folder.
        self.good("reproduce", "projection", "--no-svg", "--out", self.out)
        self.assertEqual(sorted(os.listdir(os.path.join(self.out, "projection"))), sorted(FILES))


class OwnExperiments(ExperimentsTest):
    def run_own(self, **keys):
        self.good("run", self.file("own.json", {**SMALL, **keys}), "--out", self.out, "--no-svg", "--replace")
        summary = self.check_folder(os.path.join(self.out, "own"), runs={**SMALL, **keys}["seeds"])
        self.good("report", self.out, "--quiet", "--out", self.path("report.html"))
        self.assertTrue(read_json(self.out, "own", "figures.json")["figures"])
        return summary["rows"]

    def test_every_objective(self):
        data = self.file("data.csv", "".join(f"{x},{x * x % 7},{1 if x % 3 else -1}\n" for x in range(1, 30)))
        objectives = [{"name": "quadratic", "d": 3, "condition": 10}, {"name": "fixed-target", "d": 3},
                      {"name": "l1-norm", "d": 3}, {"name": "least-squares", "file": data, "ridge": 0.1},
                      {"name": "logistic", "file": data}, {"name": "l1-regression", "d": 3, "rows": 20},
                      {"name": "huber-regression", "d": 3, "rows": 20, "mu": 0.5, "error": 3},
                      {"name": "logistic", "d": 3, "rows": 20}]
        rows = self.run_own(objective=objectives, eta=0.001, methods=[{"name": "vclip"}, {"name": "smgd-l1", "n": 3}],
                            metrics="objective gradient_sq averaged_objective")
        names = {row["objective"] for row in rows}
        self.assertEqual(len(names), len(objectives))
        for objective in objectives[3:]:
            rows = self.run_own(objective=objective, batch=[2, 5], noise={"name": "none"}, eta=0.001)
            self.assertEqual({row["batch"] for row in rows}, {2, 5})

    def test_every_noise_and_method(self):
        noises = [noise["name"] for noise in json.loads(self.good("list", "noises", "--format", "json"))["noises"]]
        self.assertIn("elliptical", noises)
        noises = [{"name": name, **({"alpha": 1.5} if name in ("stable", "elliptical") else {})} for name in noises]
        methods = [{"name": name} for name in ("sgd", "sgd-m", "vclip", "cclip", "huber", "clipped-sgd", "sign-sgd",
                                               "normalized-sgd", "adam", "median-adam", "cclip-adam", "smgd-l1", "smgd-l2",
                                               "smgd-mean", "smgd-huber-location", "smgd-trimmed-mean")]
        methods += [{"name": "smgd-lp-median", "p": [1.5, "inf"], "n": [3, 4]}, {"name": "lp", "p": 3}]
        rows = self.run_own(noise=[*noises, {"name": "none"}], methods=methods, divergence=1e300)
        finals = [row for row in rows if row["metric"] == "final_objective"]
        self.assertEqual(len(finals), (len(noises) + 1) * (len(methods) + 3))
        self.assertEqual({row.get("n") for row in finals}, {None, 3, 4})
        self.assertTrue(all(row["runs"] + row["diverged"] == 2 for row in finals))

    def test_every_list_is_an_axis(self):
        rows = self.run_own(noise={"name": "stable", "alpha": [1.1, 2], "state_dependent": [True, False]},
                            methods=[{"name": "huber", "tau": [0.1, 1], "mu": {"from": 1, "to": 3}},
                                     {"name": "cclip", "label": "C, \"quoted\"\r\n½", "tau": 1}],
                            eta={"schedule": "cosine", "value": [0.1, 0.2]}, steps=[5, 10])
        finals = [row for row in rows if row["metric"] == "final_objective"]
        self.assertEqual(len(finals), 2 * 2 * 2 * 2 * (6 + 1))
        places = {json.dumps({key: row[key] for key in row if key not in
                              ("mean", "median", "min", "max", "se", "n", "diverged")}) for row in finals}
        self.assertEqual(len(places), len(finals))
        self.assertEqual({row["eta.value"] for row in finals}, {0.1, 0.2})
        table = read_csv(self.out, "own", "results.csv")
        self.assertEqual({row["method"] for row in table}, {"huber", "C, \"quoted\"\r\n½"})
        self.assertEqual({row["eta.value"] for row in table}, {"0.1", "0.2"})

    def test_moments_of_several_noises(self):
        config = {"experiment": "m", "kind": "moments", "noise": [{"name": "cauchy"}, {"name": "gaussian"}],
                  "n": [3, 7], "trials": 30, "methods": [{"name": "median"}, {"name": "trimmed-mean", "f": [0, 1]}]}
        self.good("run", self.file("m.json", config), "--out", self.out, "--no-svg")
        rows = self.check_folder(os.path.join(self.out, "m"))["rows"]
        self.assertEqual(len(rows), 2 * 2 * 2 * 3)
        self.assertTrue(all(row["n"] in (3, 7) and row["runs"] == 30 for row in rows))

    def test_a_diverging_run_is_recorded_and_leaves_the_others_alone(self):
        methods = [{"name": "sgd", "eta": eta, "label": f"sgd {eta}"} for eta in (0.1, 2.5, 1e200)]
        rows = self.run_own(methods=methods, steps=200, seeds=3, noise={"name": "none"})
        finals = {row["method"]: row for row in rows if row["metric"] == "final_objective"}
        self.assertEqual([finals[f"sgd {eta}"]["diverged"] for eta in (0.1, 2.5, 1e200)], [0, 3, 3])
        self.assertLess(finals["sgd 0.1"]["mean"], 1e-10)
        self.assertIsNone(finals["sgd 2.5"]["mean"])
        values = [row["value"] for row in read_csv(self.out, "own", "results.csv") if row["method"] == "sgd 1e+200"]
        self.assertIn("diverged", values)
        tame = self.run_own(methods=methods[:1], steps=200, seeds=3, noise={"name": "none"})
        self.assertEqual([row for row in rows if row["method"] == "sgd 0.1"], tame)

    def test_data_that_overflow(self):
        data = self.file("data.csv", "1e154,-1e154,1\n1,2,-1\n")
        for method in ("sgd", "smgd-l1", "smgd-l2", "adam", "vclip"):
            self.run_own(objective={"name": "least-squares", "file": data}, noise={"name": "none"}, w0=0,
                         methods=[{"name": method}, {"name": "cclip", "eta": 0}])


class NothingIsLost(ExperimentsTest):
    def sections(self):
        page = content(self.out, "index.html").decode()
        data = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
        return [section["name"] for section in json.loads(data)["sections"]]

    def test_the_page_lists_all_that_is_in_the_folder(self):
        few = ("--seeds", 2, "--no-svg", "--quiet", "--out", self.out)
        self.good("reproduce", "projection", "huber-ablation", *few)
        self.good("run", self.file("own.json", SMALL), "--no-svg", "--quiet", "--out", self.out)
        self.good("reproduce", "toy", *few)
        self.assertEqual(self.sections(), ["toy", "projection", "huber-ablation", "own"])
        os.remove(os.path.join(self.out, "index.html"))
        self.good("report", self.out, "--quiet")
        self.assertEqual(self.sections(), ["toy", "projection", "huber-ablation", "own"])

    def test_a_page_of_others_stays(self):
        os.mkdir(self.out)
        page = self.file("out/index.html", "<p>my letters</p>")
        own = self.file("own.json", SMALL)
        for command in (("reproduce", "toy"), ("run", own)):
            self.bad(r"out/index\.html exists already and is not a report of medgrad", *command, "--out", self.out)
        self.assertEqual((os.listdir(self.out), content(page)), (["index.html"], b"<p>my letters</p>"))
        self.good("run", own, "--no-svg", "--quiet", "--out", self.path("other"))
        os.replace(page, self.path("other", "index.html"))
        self.bad("is not a report of medgrad", "report", self.path("other"))
        self.assertEqual(content(self.path("other"), "index.html"), b"<p>my letters</p>")

    def test_results_with_other_settings_stay(self):
        own = self.file("own.json", {**SMALL, "seeds": 5})
        here = ("--no-svg", "--quiet", "--out", self.out)
        self.good("run", own, *here)
        before = self.bytes_of(self.out, "own")
        self.bad(r"out/own holds results with another 'seeds' \(5, not 3\); --replace", "run", own, "--seeds", 3, *here)
        self.bad("another 'seed'", "run", own, "--seed", 3, *here)
        self.assertEqual(self.bytes_of(self.out, "own"), before)
        self.good("run", own, *here)
        self.assertEqual(self.bytes_of(self.out, "own"), before)
        self.good("run", own, "--seeds", 3, "--replace", *here)
        self.check_folder(os.path.join(self.out, "own"), runs=3)


class Summaries(ExperimentsTest):
    def test_fields(self):
        self.good("reproduce", "toy", "least-squares-s1", "moments", "--seeds", 3, "--out", self.out, "--no-svg")
        def rows(name, metric):
            return [row for row in read_json(self.out, name, "summary.json")["rows"] if row["metric"] == metric]
        toy = rows("toy", "final_relative_error")
        self.assertEqual(len(toy), 4 * 11)
        self.assertEqual(sorted({row["inv_alpha"] for row in toy}), [x / 10 for x in range(5, 16)])
        squares = rows("least-squares-s1", "objective")
        self.assertTrue({0, 10, 100, 500, 1000} <= {row["step"] for row in squares})
        for metric in ("first_moment", "second_moment"):
            moments = rows("moments", metric)
            self.assertEqual({(row["alpha"], row["n"]) for row in moments},
                             {(alpha, n) for alpha in (1.1, 1.5) for n in range(1, 102, 2)})
        for claim in read_json(self.out, "toy", "summary.json")["claims"]:
            self.assertEqual(set(claim), {"claim", "holds", "evidence"})


if __name__ == "__main__":
    unittest.main()
