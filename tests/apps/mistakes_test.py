"""Every mistake in the file of an experiment is told in one sentence that names file and line.

Run by CTest as: mistakes_test.py MEDGRAD.
"""

import json
import os
import re
import shutil
import unittest

from experiments import SMALL, ExperimentsTest


class Mistakes(ExperimentsTest):
    def bad_file(self, sentence, text, line=None):
        """The same for a file; the sentence begins with its name and line."""
        path = self.file("bad.json", text)
        place = f"^medgrad: {re.escape(path)}" + (f":{line}: " if line else "")
        self.bad(place + ".*" + sentence, "run", path, "--out", self.out)

    def bad_key(self, sentence, line=None, **keys):
        """SMALL with other keys, one per line: the first is on line 2."""
        merged = {**SMALL, **keys}
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in merged.items() if value is not ...]
        number = line or 2 + [key for key in merged if merged[key] is not ...].index(next(iter(keys))) \
            if next(iter(keys.values())) is not ... else 1
        self.bad_file(sentence, "{\n" + ",\n".join(lines) + "}", number)

    def test_no_json(self):
        self.bad_file("not JSON", "", 1)
        self.bad_file("not JSON", '{\n"experiment": "x"\n', 2)
        self.bad_file("not JSON", "experiment: x\n", 1)
        self.bad_file("not JSON", b'{\n"experiment": "\xff"}', 2)
        self.bad_file("'seed' is given twice", '{\n"seed": 1,\n"seed": 2}', 3)
        self.bad_file("nested", "[" * 100000, 1)
        self.bad_file("is a list; it must be an object", "[]", 1)
        self.bad_file("is text; it must be an object", '"toy"', 1)

    def test_files(self):
        self.bad("nothing.json does not exist", "run", self.path("nothing.json"), "--out", self.out)
        self.bad("is a folder; it must be a file", "run", self.folder.name, "--out", self.out)
        self.bad("FILE is missing", "run", "--out", self.out)
        good = self.file("good.json", SMALL)
        self.bad("two experiments are called 'own'", "run", good, good, "--out", self.out)
        self.bad("is not an experiment. Did you mean 'toy'", "reproduce", "toi", "--out", self.out)
        self.bad("two experiments are called 'toy'", "reproduce", "toy", "toy", "--out", self.out)
        self.bad("cannot be created", "run", good, "--out", good)
        self.bad("cannot be created", "run", good, "--out", os.path.join(good, "deeper"))
        self.bad("cannot be created", "run", good, "--out", "/proc/medgrad")
        self.bad("--seeds", "run", good, "--seeds", 0, "--out", self.out)
        self.bad("--seeds", "run", good, "--seeds", "many", "--out", self.out)
        self.bad("--jobs is 'x'", "run", good, "--jobs", "x", "--out", self.out)
        self.bad("--jobs and --threads", "run", good, "--jobs", 2, "--threads", 2, "--out", self.out)
        if os.geteuid() != 0:
            os.chmod(good, 0)
            self.bad("cannot be read", "run", good, "--out", self.out)

    def test_places_that_are_taken(self):
        good = self.file("good.json", SMALL)
        for taken in ("file", "photos"):
            os.makedirs(self.out)
            if taken == "file":
                self.file("out/own", "")
            else:
                os.makedirs(self.path("out", "own"))
                self.file("out/own/photo.jpg", "x")
            self.bad("own exists already and is not a result folder", "run", good, "--out", self.out)
            self.assertEqual(os.listdir(self.out), ["own"])
            shutil.rmtree(self.out)

    def test_keys(self):
        self.bad_key("has no 'experiment'", experiment=...)
        self.bad_key("'experiment' is a number; it must be text", experiment=5)
        self.bad_key("'experiment' is '../x'; .*letters, digits", experiment="../x")
        self.bad_key("'experiment' is ''", experiment="")
        self.bad_key("'stepz' is not a key of the experiment. Did you mean 'steps'", stepz=3)
        self.bad_key("'kind' is 'moment'. Did you mean 'moments'", kind="moment")
        self.bad_key("'steps' is -1; .*whole number", steps=-1)
        self.bad_key("'steps' is 0;", steps=0)
        self.bad_key("'steps' is 1.5;", steps=1.5)
        self.bad_key("'steps' is text; it must be a number", steps="many")
        self.bad_key("'seeds' is 0;", seeds=0)
        self.bad_key("'seeds' is a list; it must be a number", seeds=[1, 2])
        self.bad_key("'seed' is -1;", seed=-1)
        self.bad_key("'batch' needs an objective that has data", batch=4)
        self.bad_key("'eta' is -0.1;", eta=-0.1)
        self.bad_key("'value' is -2;", eta={"name": "inverse", "value": -2})
        self.bad_key("'cosin' is not a schedule. Did you mean 'cosine'", eta={"schedule": "cosin", "value": 1})
        self.bad_key("'value' is missing; cosine needs it", eta={"name": "cosine"})
        self.bad_key("'value' is missing; cosine needs it", eta="cosine")
        self.bad_key("'vlue' is not a key of the schedule of 'eta'. Did you mean 'value'", eta={"name": "step", "vlue": 0.1})
        self.bad_key("'fast' is not a schedule; it must be constant, ", eta="fast")
        self.bad_key('\'eta\' is "0.1", in quotes; a number has none: 0.1', eta="0.1")
        self.bad_key("'factor' is -1;", eta={"schedule": "step", "value": 1, "factor": -1})
        self.bad_key("not finite where every component of w is inf", w0="inf")
        self.bad_key("not finite where every component of w is 1e\\+200", w0=1e200)
        self.bad_key("'divergence' must be positive", divergence=0)
        self.bad_key("'metrics' names no metric", metrics="")
        self.bad_key("'objektive' is not a metric. Did you mean 'objective'", metrics="gradient_sq objektive")
        self.bad_key("l1_excess is known for", metrics="l1_excess", noise={"name": "gaussian"})
        self.bad_key("'part' must be a list", part={"name": "a"})
        self.bad_key("two parts are called 'a'", part=[{"name": "a"}, {"name": "a"}])
        self.bad_key("'seeds' belongs to all parts", part=[{"name": "a", "seeds": 3}])
        self.bad_key("the grid is empty", part=[], line=1)

    def test_grids(self):
        self.bad_key("the list 'steps' is empty", steps=[])
        self.bad_key("'steps' is a list of lists", steps=[[1]])
        self.bad_key("'steps' has 5 twice", steps=[5, 5])
        self.bad_key("the range 'steps' has no values", steps={"from": 2, "to": 1})
        self.bad_key("the list 'tau' is empty", methods=[{"name": "vclip", "tau": []}])

    def test_methods(self):
        self.bad_key("has no 'methods'", methods=...)
        self.bad_key("'methods' must be a list with at least one method", methods=[])
        self.bad_key("'methods' must be a list", methods={"name": "vclip"})
        self.bad_key("a method is a number; it must be an object", methods=[3])
        self.bad_key("'tau' is -1; it must satisfy", methods=["vclip:tau=-1"])
        self.bad_key("has an empty part", methods=["vclip:"])
        self.bad_key("a method has no 'name'", methods=[{"tau": 1}])
        self.bad_key("'vclop' is not a method. Did you mean 'vclip'", methods=[{"name": "vclop"}])
        self.bad_key("'p' is missing; smgd-lp-median needs it", methods=[{"name": "smgd-lp-median"}])
        self.bad_key("'tau' is -1; it must satisfy 0 < tau", methods=[{"name": "vclip", "tau": -1}])
        self.bad_key("'big' is not a schedule", methods=[{"name": "vclip", "tau": "big"}])
        self.bad_key("'cosin' is not a schedule. Did you mean 'cosine'", methods=[{"name": "vclip", "tau": {"name": "cosin"}}])
        self.bad_key("'tau' is true; it must be a number or auto", methods=[{"name": "vclip", "tau": True}])
        self.bad_key("'tau' is null; it must be a number or auto", methods=[{"name": "vclip", "tau": None}])
        self.bad_key("'label' is empty", methods=[{"name": "vclip", "label": ""}])
        self.bad_key("'mu' is 'big'; it must be a number", methods=[{"name": "huber", "mu": "big"}])
        self.bad_key("tau", methods=[{"name": "vclip", "tau": {"value": 0}}])
        self.bad_key("'tua' is not a key of a method. Did you mean 'tau'", methods=[{"name": "vclip", "tua": 1}])
        self.bad_key("'n' is 2.5;", methods=[{"name": "smgd-l1", "n": 2.5}])
        self.bad_key("2 f < n|f", methods=[{"name": "smgd-trimmed-mean", "n": 2, "f": 1}])
        self.bad_key("'inexact' is above 0; trimmed-mean does not minimise a distance", methods=[{"name": "smgd-trimmed-mean", "inexact": 1}])
        self.bad_key("two methods are called 'vclip'", methods=[{"name": "vclip"}, {"name": "vclip", "tau": 2}])

    def test_noise(self):
        self.bad_key("the noise is a number; it must be an object", noise=3)
        self.bad_key("'cauchi' is not a noise. Did you mean 'cauchy'", noise={"name": "cauchi"})
        self.bad_key("'alpha' is 3;", noise={"name": "stable", "alpha": 3})
        self.bad_key("alpha", noise={"name": "stable", "inv_alpha": 0.4})
        self.bad_key("alpha", noise={"name": "stable", "inv_alpha": 0})
        self.bad_key("'alpha' is missing; stable needs it", noise="stable")
        self.bad_key("'alpha' and 'inv_alpha' both give alpha", noise={"name": "stable", "alpha": 1, "inv_alpha": 1})
        self.bad_key("'alpha' is \"1.5\", in quotes", noise={"name": "stable", "alpha": "1.5"})
        self.bad_key("'form' is 'S2'; it must be S0 or S1", noise={"name": "stable", "alpha": 1.5, "form": "S2"})
        self.bad_key("'alpha' is not a key of the noise", noise={"name": "cauchy", "alpha": 1})
        self.bad_key("'state_dependent' is a number; it must be true or false",
                     noise={"name": "cauchy", "state_dependent": 1})

    def test_objectives(self):
        self.bad_key("has no 'objective'", objective=...)
        self.bad_key("'name' is 'quadradic'. Did you mean 'quadratic'", objective={"name": "quadradic"})
        self.bad_key("'name' is 'quadradic'. Did you mean 'quadratic'", objective="quadradic:d=3")
        self.bad_key("'d' is 0;", objective={"name": "l1-norm", "d": 0})
        self.bad_key("'rows' is not a key of the objective", objective={"name": "quadratic", "rows": 3})
        self.bad_key("'condition' must be at least 1", objective={"name": "quadratic", "condition": 0.5})
        self.bad_key("'ridge' is -1; it must satisfy 0 <= ridge", objective={"name": "least-squares", "ridge": -1})
        self.bad_key("nothing.csv", objective={"name": "least-squares", "file": self.path("nothing.csv")})
        for name, text, sentence in (("one.csv", "1\n2\n", "has one column"), ("word.csv", "1,2\n3,x\n", "word.csv:2"),
                                     ("nan.csv", "1,2\nnan,3\n", "must be finite"), ("empty.csv", "", "empty.csv")):
            self.bad_key(sentence, objective={"name": "least-squares", "file": self.file(name, text)})
        labels = self.file("labels.csv", "1,2\n2,1\n")
        self.bad_key("must be 1 or -1", objective={"name": "logistic", "file": labels})

    def test_other_kinds(self):
        moments = {"experiment": "m", "kind": "moments", "noise": {"name": "cauchy"}, "n": 3,
                   "methods": [{"name": "mean"}]}
        for sentence, keys in (("has no 'noise'", {"noise": ...}), ("has no 'n'", {"n": ...}),
                               ("'n' is 0", {"n": 0}), ("'trials' is 1", {"trials": 1}),
                               ("is not an estimator of numbers", {"methods": [{"name": "geometric-median"}]}),
                               ("the noise is a number", {"noise": 3}), ("'methods' must be", {"methods": []}),
                               ("an estimator is a number", {"methods": [3]}),
                               ("'seeds' is not a key", {"seeds": 3}), ("f", {"methods": [{"name": "trimmed-mean", "f": 2}]})):
            self.bad_file(sentence, {key: value for key, value in {**moments, **keys}.items() if value is not ...}, 1)
        projection = {"experiment": "p", "kind": "projection", "m": {"x": 0, "y": 0}, "g": {"x": 1, "y": 2},
                      "methods": [{"name": "vclip", "tau": 1}]}
        for sentence, keys in (("has no 'g'", {"g": ...}), ("has no 'y'", {"m": {"x": 1}}),
                               ("'z' is not a key of the point 'm'", {"m": {"x": 1, "y": 1, "z": 1}}),
                               ("'adam' is not an online method", {"methods": [{"name": "adam"}]})):
            self.bad_file(sentence, {key: value for key, value in {**projection, **keys}.items() if value is not ...}, 1)


if __name__ == "__main__":
    unittest.main()
