"""Training of language models and experiments on them, on made-up data.

Run by CTest as: language_test.py MEDGRAD. With MEDGRAD_DATA set nothing more is run: real data takes
minutes.
"""

import csv
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from command import MEDGRAD, CommandTest, content, run

SMALL = ("synthetic", "--size", "small", "--batch", "8,16", "--limit", "12", "--steps", "40", "--no-svg",
         "--threads", "1")  # so small that sharing takes longer
TRAIN = ("train", "synthetic", "--size", "small", "--batch", "8", "--evaluation-limit", "2", "--threads", "1",
         "--quiet")
SWEEP = ("sweep", "synthetic", "--size", "small", "--batch", "8", "--limit", "5", "--evaluation-limit", "1",
         "--threads", "1", "--methods", "sgd-m,vclip", "--rates", "0.03..0.11", "--extend", "1")


def sweep_with(**changed):
    """SWEEP with other values of its options."""
    arguments = list(SWEEP)
    for name, value in changed.items():
        arguments[arguments.index("--" + name) + 1] = value
    return arguments


def csv_rows(text):
    """The rows of a table, without the remarks below it."""
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


class LanguageTest(CommandTest):
    def results(self, out, name):
        folder = os.path.join(self.path(out), name)
        with open(os.path.join(folder, "results.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return (json.loads(content(os.path.join(folder, "config.json"))),
                json.loads(content(os.path.join(folder, "summary.json"))), rows)


    def with_data(self, *arguments):
        """Runs with the data of this test's folder only."""
        return run(*arguments, env={**os.environ, "MEDGRAD_DATA": self.path("data"), "XDG_DATA_HOME": self.path("none")})

    def bad_data(self, sentence, *arguments):
        result = self.with_data(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr.decode())
        self.assertRegex(result.stderr.decode(), r"^medgrad: [^\n]*" + sentence + r"[^\n]*[.?]\n$")

    def make_ptb(self):
        """Words in the place of the Penn Treebank's."""
        os.makedirs(self.path("data/ptb"))
        words = random.Random(1)
        for part, lines in (("train", 300), ("valid", 30), ("test", 60)):
            self.file(f"data/ptb/ptb.{part}.txt", "".join(
                " ".join(f"w{words.randrange(50)}" for _ in range(20)) + "\n" for _ in range(lines)))

    def stopped(self, *arguments, where, by=signal.SIGINT, **options):
        """Ctrl-C (or another signal) once there is a line of metrics of a step; the exit code and what was said."""
        process = subprocess.Popen([MEDGRAD, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **options)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                if any(b'"event":"step"' in content(file) for file in where() if os.path.exists(file)):
                    process.send_signal(by)
                    break
                time.sleep(0.005)
            output, error = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, output, error.decode()


class Train(LanguageTest):
    def metrics(self, out):
        """The lines of metrics.jsonl but for the clock."""
        lines = [json.loads(line) for line in content(self.path(out + "/metrics.jsonl")).decode().splitlines()]
        for line in lines:
            line.pop("seconds", None)
        return lines

    def test_a_run(self):
        text = self.good(*TRAIN, "--method", "vclip", "--lr", "1", "--limit", "10", "--epochs", "2", "--log-every", "5",
                         "--out", self.path("run"))
        rows = csv_rows(text)
        self.assertEqual([(row["epoch"], row["step"]) for row in rows], [("0", "0"), ("1", "10"), ("2", "20")])
        self.assertLess(float(rows[-1]["training_loss"]), float(rows[0]["training_loss"]))
        lines = self.metrics("run")
        self.assertEqual([line["step"] for line in lines if line["event"] == "step"], [5, 10, 15, 20])
        # What is printed reads back to the same numbers.
        evaluations = [line for line in lines if line["event"] == "evaluation"]
        for row, line in zip(rows, evaluations, strict=True):
            for score in ("training_loss", "train_ppl", "valid_ppl"):
                self.assertEqual(float(row[score]), line[score])
        config = json.loads(content(self.path("run/config.json")))
        self.assertEqual({key: config[key] for key in ("task", "size", "batch", "limit", "lr", "seed")},
                         {"task": "synthetic", "size": "small", "batch": 8, "limit": 10, "lr": 1, "seed": 0})
        self.assertRegex(config["method"], "^vclip .*tau=0.1$")
        self.assertTrue(os.path.exists(self.path("run/checkpoint.safetensors")))
        self.bad("already has a run; rerun with --resume", *TRAIN, "--lr", "1", "--limit", "10", "--out", self.path("run"))

    def test_stopped_and_resumed(self):
        long = (*TRAIN, "--method", "huber:mu=1.3:tau=0.1", "--lr", "0.1", "--limit", "60", "--steps", "150")
        self.good(*long, "--out", self.path("whole"))
        parts = ("--out", self.path("parts"))
        code, output, error = self.stopped(*long, *parts, where=lambda: [self.path("parts/metrics.jsonl")])
        self.assertEqual(code, 1)
        self.assertEqual(error, "medgrad: stopped; rerun with --resume to continue.\n")
        self.assertIn(b"epoch,step,training_loss", output)
        whole = self.metrics("whole")
        self.assertLess(len(self.metrics("parts")), len(whole))
        self.bad("already has a run", *long, *parts)
        loud = [word for word in long if word != "--quiet"]
        resumed = run(*loud, "--resume", *parts)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        begun = int(re.search(rb"^Going on from step (\d+) of 150\.$", resumed.stderr, re.MULTILINE)[1])
        self.assertTrue(0 < begun < 150, begun)
        self.assertNotIn(b"finished already", resumed.stdout)
        self.assertEqual(self.metrics("parts"), whole)
        again = run(*loud, "--resume", *parts)
        self.assertIn(b"# the run was finished already: 150 steps, ", again.stdout)
        self.assertNotIn(b"tokens/s", again.stdout)
        self.assertNotIn(b"Going on", again.stderr)
        self.assertEqual(content(self.path("parts/config.json")), content(self.path("whole/config.json")))

    def test_signals(self):
        """A terminal that goes away, and kill, are as good as Ctrl-C."""
        for by in (signal.SIGHUP, signal.SIGTERM):
            out = self.path("by-" + by.name)
            code, _, error = self.stopped(*TRAIN, "--lr", "0.1", "--limit", "60", "--steps", "400", "--checkpoint-every",
                                          "1000", "--out", out, where=lambda: [out + "/metrics.jsonl"], by=by)
            self.assertEqual((code, error), (1, "medgrad: stopped; rerun with --resume to continue.\n"), by.name)
        # As nohup starts it, it goes on.
        out = self.path("nohup")
        code, _, error = self.stopped(*TRAIN, "--lr", "0.1", "--limit", "60", "--out", out,
                                      where=lambda: [out + "/metrics.jsonl"], by=signal.SIGHUP,
                                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertEqual((code, error), (0, ""))

    def test_full_disk(self):
        """Files that cannot grow: one sentence, exit code 1, and the run goes on once they can."""
        run_it = (*TRAIN, "--lr", "0.1", "--limit", "6", "--checkpoint-every", "2", "--log-every", "1", "--steps")
        self.good(*run_it, "12", "--out", self.path("whole"))
        size = os.path.getsize(self.path("whole/checkpoint.safetensors"))

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 4, resource.RLIM_INFINITY))

        def fails(*arguments):
            failed = run(*arguments, preexec_fn=limit)
            self.assertEqual(failed.returncode, 1, failed.stderr)
            self.assertRegex(failed.stderr.decode(),
                             r"^medgrad: \S+/parts/checkpoint\.safetensors cannot be written: [^\n]+\.\n$")
        out = ("--out", self.path("parts"))
        fails(*run_it, "6", *out)
        self.assertEqual(sorted(os.listdir(self.path("parts"))), ["config.json", "metrics.jsonl"])
        self.good(*run_it, "6", *out)
        saved = content(self.path("parts/checkpoint.safetensors"))
        fails(*run_it, "12", "--resume", *out)
        self.assertEqual(sorted(os.listdir(self.path("parts"))), ["checkpoint.safetensors", "config.json", "metrics.jsonl"])
        self.assertEqual(content(self.path("parts/checkpoint.safetensors")), saved)
        self.good(*run_it, "12", "--resume", *out)
        self.assertEqual(self.metrics("parts"), self.metrics("whole"))

    def test_other_data_is_not_resumed(self):
        """Words of the same number in another order."""
        self.make_ptb()
        ptb = ("train", "ptb", "--size", "small", "--batch", "4", "--limit", "3", "--evaluation-limit", "1", "--threads", "1",
               "--quiet", "--out", self.path("run"))
        done = self.with_data(*ptb)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        lines = content(self.path("data/ptb/ptb.train.txt")).decode().splitlines()
        self.file("data/ptb/ptb.train.txt", "\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
        self.bad_data("another 'data_checksum'", *ptb, "--epochs", "2", "--resume")

    def test_a_part_that_is_too_short(self):
        self.make_ptb()
        self.file("data/ptb/ptb.test.txt", "w1 w2\n")
        for command in ("train", "sweep", "gradients"):
            self.bad_data(r"/ptb\.test\.txt: a batch size of 4 is too large for 3 tokens", command, "ptb", "--size", "small",
                          "--batch", "4", "--out", self.path("out"))
            self.assertFalse(os.path.exists(self.path("out")), command)

    def test_too_many_threads(self):
        sentence = "--threads is 100000; it must be at most 1024"
        config = self.file("c.json", '{"experiment": "x", "kind": "training", "task": "synthetic", "methods": ["vclip"]}')
        for command in (("train", "synthetic"), ("sweep", "synthetic"), ("gradients", "synthetic"), ("run", config),
                        ("reproduce", "train-ptb")):
            self.bad(sentence, *command, "--threads", "100000", "--out", self.path("out"))
            self.assertFalse(os.path.exists(self.path("out")), command)
        self.bad("--threads is 4294967297; it must be at most", "train", "synthetic", "--threads", "4294967297")
        self.bad("--jobs is 2000; it must be at most 1024", "run", config, "--jobs", "2000", "--out", self.path("out"))

    def test_per_tensor(self):
        few = (*TRAIN, "--lr", "0.1", "--limit", "3", "--log-every", "1")
        self.good(*few, "--out", self.path("one"))
        self.good(*few, "--per-tensor", "--out", self.path("many"))
        self.assertTrue(json.loads(content(self.path("many/config.json")))["per_tensor"])
        one, many = (self.metrics(name)[-2]["effective_beta"] for name in ("one", "many"))
        self.assertLess(many, one)  # cut less

    def test_state_in_bfloat16(self):
        """Half the state, a run like that in float, the same bits on two threads, and it goes on where it was stopped."""
        few = (*TRAIN, "--lr", "0.1", "--limit", "4", "--log-every", "1")
        self.good(*few, "--out", self.path("full"))
        on_two = list(few)
        on_two[few.index("--threads") + 1] = "2"
        for name, run in (("half", few), ("again", on_two), ("parts", (*few, "--steps", "2"))):
            self.good(*run, "--state", "bfloat16", "--out", self.path(name))
        self.good(*few, "--state", "bfloat16", "--out", self.path("parts"), "--resume")
        self.assertEqual(json.loads(content(self.path("half/config.json")))["state"], "bfloat16")
        losses = {name: [line["loss"] for line in self.metrics(name) if "loss" in line]
                  for name in ("full", "half", "again", "parts")}
        self.assertEqual(losses["half"][1:], losses["again"][1:])
        self.assertEqual(losses["half"][-1], losses["parts"][-1])
        self.assertNotEqual(losses["half"], losses["full"])
        self.assertAlmostEqual(losses["half"][-1], losses["full"][-1], delta=0.01 * losses["full"][-1])
        sizes = {name: os.path.getsize(self.path(name, "checkpoint.safetensors")) for name in ("full", "half")}
        self.assertLess(sizes["half"], 0.8 * sizes["full"])  # weights and m: 4 + 2 bytes instead of 4 + 4
        self.bad("belongs to a run with other settings", *few, "--out", self.path("half"), "--resume")
        self.bad("bfloat16 is for the state of methods that track one estimate.*adam is none", *TRAIN, "--method", "adam", "--lr", "0.1",
                 "--state", "bfloat16", "--out", self.path("out"))
        self.bad("--state is 'half'; it must be float or bfloat16", *TRAIN, "--state", "half", "--out", self.path("out"))

    def test_corrupted_steps(self):
        """Every kind of wrong gradient is part of the settings, and goes on bit for bit, also with other threads."""
        task = ["--batch", "8", "--threads", "1"]
        for questions in (False, True):
            start = [word for word in TRAIN if word not in task]
            start[1] = "synthetic-questions" if questions else "synthetic"
            start += ["--batch", "4" if questions else "8", "--limit", "8", "--lr", "0.5", "--log-every", "1", "--steps"]
            ends = set()
            for how, said in (((), None),
                              (("--corrupted", "0.5"), {"share": 0.5, "factor": -100.0}),
                              (("--corrupted", "0.5", "--corrupted-kind", "bit-flip"),
                               {"share": 0.5, "kind": "bit-flip", "flips": 1}),
                              (("--corrupted", "0.5", "--corrupted-kind", "shuffled-labels"),
                               {"share": 0.5, "kind": "shuffled-labels"})):
                name = f"{questions}-{how[-1] if how else 'clean'}"
                self.good(*start, "8", *how, "--threads", "1", "--out", self.path(name))
                self.assertEqual(json.loads(content(self.path(name + "/config.json"))).get("corrupted"), said)
                self.good(*start, "3", *how, "--threads", "2", "--out", self.path(name + "-parts"))
                self.good(*start, "8", *how, "--threads", "1", "--resume", "--out", self.path(name + "-parts"))
                whole, parts = ([line for line in self.metrics(out) if line["event"] == "step"] for out in (name, name + "-parts"))
                self.assertEqual(parts, whole)
                ends.add(whole[-1]["loss"])
            self.assertEqual(len(ends), 4, ends)
            self.bad("belongs to a run with another 'corrupted'", *start, "9", "--corrupted", "0.5", "--resume", "--out",
                     self.path(name))

    def test_parameters_are_options(self):
        """What medgrad list optimizers prints with dashes, train takes: beside the name or in it."""
        few = ("--lr", "0.001", "--limit", "4", "--epochs", "1")
        for name, options in (("huber", {"mu": 2, "tau": "auto", "theta": 0.2}), ("adam", {"beta1": 0.8, "epsilon": 0.01}),
                              ("median-adam", {"cut": 2}), ("smgd-l1", {"n": 2}), ("smgd-trimmed-mean", {"n": 3, "f": 1})):
            given = [text for key, value in options.items() for text in (f"--{key}", value)]
            word = name + "".join(f":{key}={value}" for key, value in options.items())
            self.good(*TRAIN, "--method", name, *given, *few, "--out", self.path("options"))
            self.good(*TRAIN, "--method", word, *few, "--out", self.path("text"))
            methods = [json.loads(content(self.path(f"{where}/config.json")))["method"] for where in ("options", "text")]
            self.assertEqual(*methods)
            for key, value in options.items():
                self.assertIn(f" {key}={value}", methods[0])
            for where in ("options", "text"):
                shutil.rmtree(self.path(where))

    def test_tau_has_one_default(self):
        for command in (("train", "--help"), ("list", "optimizers")):
            self.assertIn("the default of tau is 0.1, and 1/9 (beta = 0.9) for momentum",
                          " ".join(self.good(*command).decode().split()))
        help_of_one = " ".join(self.good("train", "--method", "vclip", "--help").decode().split())
        self.assertIn("(0 < tau < inf, or auto; default 0.1)", help_of_one)

    def test_mistakes(self):
        out = ("--out", self.path("out"))
        self.bad("TASK is missing", "train", *out)
        self.bad("'synthetik' is not a task. Did you mean 'synthetic'", "train", "synthetik", *out)
        for option, value, sentence in (
                ("--method", "vclib", "Did you mean 'vclip'"), ("--method", "huber", "no learning rate for huber; give one with --lr"),
                ("--lr", "0", "--lr is 0; it must be above 0"), ("--factor", "1.5", "--factor does not apply to a constant schedule"),
                ("--warmup", "-1", "--warmup is -1; it must be a whole number"), ("--checkpoint-every", "0", "--checkpoint-every is '0'"),
                ("--epochs", "99999999999999", "too large"), ("--dropout", "1", "--dropout is '1'"),
                ("--schedule", "cosin", "--schedule: 'cosin' is not a schedule. Did you mean 'cosine'?")):
            self.bad(sentence, *TRAIN, option, value, *out)
        # A parameter is called as it was given, and is given once.
        for arguments, sentence in (
                (("--tau", "-1"), "--tau is -1; it must satisfy 0 < tau < inf, or be auto"),
                (("--method", "huber:mu=-1"), "mu in 'huber:mu=-1' is -1; it must satisfy 0 < mu"),
                (("--method", "huber", "--mu", "-1"), "--mu is -1; it must satisfy 0 < mu"),
                (("--method", "lp"), "--p is missing; lp needs it"),
                (("--method", "vclip:tau=0.1", "--tau", "1"), "'vclip:tau=0.1' and --tau both give tau; give it once"),
                (("--method", "vclip", "--mu", "1"), "--mu is not a parameter of vclip"),
                (("--method", "vclip:Tau=1"), "Tau in 'vclip:Tau=1' is not a parameter of vclip. Did you mean 'tau'"),
                (("--schedule", "step:every=2", "--decay-every", "3"),
                 "'step:every=2' and --decay-every both give every; give it once"),
                (("--tau-schedule", "cosine:value=0"), "--tau-schedule: value is 0; it must satisfy 0 < value"),
                (("--corrupted-kind", "bit-flip"), "--corrupted-kind needs --corrupted, the share of the steps"),
                (("--corrupted-factor", "2"), "--corrupted-factor needs --corrupted"),
                (("--corrupted", "0.1", "--corrupted-kind", "bitflip"),
                 "--corrupted-kind is 'bitflip'; it must be scaled, bit-flip or shuffled-labels"),
                (("--corrupted", "0.1", "--corrupted-kind", "bit-flip", "--corrupted-factor", "2"),
                 "--corrupted-factor is for --corrupted-kind scaled"),
                (("--corrupted", "0.1", "--corrupted-flips", "2"), "--corrupted-flips is for --corrupted-kind bit-flip"),
                (("--corrupted", "0.1", "--corrupted-kind", "bit-flip", "--corrupted-flips", "0"), "--corrupted-flips is '0'; it must be a whole number"),
                (("--corrupted", "0.1", "--corrupted-kind", "bit-flip", "--corrupted-flips", "1e7"),
                 "--corrupted-flips is 1e7; it must be at most 1000000"),
                (("--method", "vclip", "--f", "1"), "--f is for workers that train together")):
            self.bad(sentence, *TRAIN, *arguments, *out)
        questions = [word if word != "synthetic" else "synthetic-questions" for word in TRAIN]
        questions[questions.index("--batch") + 1] = "1"
        self.bad("a batch with one label has none to shuffle; choose a larger --batch", *questions, "--lr", "1", "--corrupted", "0.1",
                 "--corrupted-kind", "shuffled-labels", *out)
        self.bad_data("ptb was not found", "train", "ptb", *out)

    def test_damaged_checkpoint(self):
        """What comes with a published model is checked before anything is made of it."""
        paragraph = {"context": "a b c", "qas": [{"id": "1", "question": "b c", "answers": [
            {"text": "b", "answer_start": 2}]}]}
        squad = json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]})
        for folder in ("squad", "minilm-l6"):
            os.makedirs(self.path("data/" + folder))
        self.file("data/squad/train-v1.1.json", squad)
        self.file("data/squad/dev-v1.1.json", squad)
        self.file("data/minilm-l6/vocab.txt", "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c")) + "\n")
        self.file("data/minilm-l6/model.safetensors", b"\0")
        for config, sentence in (('{"model_type": "bert", "vocab_size": 1000000000000}', "config.json: vocab_size is "),
                                 ('{"model_type":\n"bert"', "config.json:2: this is not JSON: it ends too early"),
                                 ('{"model_type": "bert", "vocab_size": 8}',
                                  r"/vocab\.txt has 7 tokens where config\.json says 8"),
                                 ('{"model_type": "bert", "vocab_size": 6}',
                                  r"/vocab\.txt has 7 tokens where config\.json says 6"),
                                 ('{"model_type": "bert", "vocab_size": 7, "max_position_embeddings": 7}',
                                  r"/config\.json: max_position_embeddings is 7, and the longest window .* has 8 tokens"),
                                 ('{"model_type": "bert", "vocab_size": 7}', "model.safetensors is not a safetensors file")):
            self.file("data/minilm-l6/config.json", config)
            self.bad_data(sentence, "train", "squad", "--quiet", "--batch", "1", "--out", self.path("out"))
            self.assertFalse(os.path.exists(self.path("out")))
        for command in ("sweep", "gradients"):  # which read it by the same means
            self.bad_data(sentence, command, "squad", "--quiet", "--batch", "1", "--out", self.path("out"))
            self.assertFalse(os.path.exists(self.path("out")), command)


class Sweep(LanguageTest):
    def test_table_and_results(self):
        text = self.good(*SWEEP, "--seeds", "2", "--schedule", "cosine", "--factor", "0", "--out", self.path("out"))
        rows = csv_rows(text)
        self.assertEqual([row["method"] for row in rows], ["sgd-m", "vclip"])
        config, summary, values = self.results("out", "synthetic-sweep")
        # FROM..TO begins and ends within.
        tried = {one["method"].split()[0]: one["rates"] for one in config["tried"]}
        for rates in tried.values():
            self.assertIn(rates, ([0.0316, 0.1], [0.01, 0.0316, 0.1], [0.0316, 0.1, 0.316]))
        self.assertEqual({key: config[key] for key in ("task", "size", "batch", "limit", "evaluation_limit", "epochs",
                                                       "steps", "accumulate", "seeds", "dropout")},
                         {"task": "synthetic", "size": "small", "batch": 8, "limit": 5, "evaluation_limit": 1,
                          "epochs": 1, "steps": 0, "accumulate": 1, "seeds": 2, "dropout": 0.2})
        self.assertEqual((config["lr_schedule"]["name"], config["lr_schedule"]["factor"]), ("cosine", 0))
        for row, label, rates in zip(rows, ("SGD-M", "VClip"), tried.values(), strict=True):
            final = [one for one in summary["rows"] if one["method"] == label and one["metric"] == "final_training_loss"]
            self.assertEqual([one["lr"] for one in final], rates)
            best = min(final, key=lambda one: one["mean"])
            self.assertEqual((float(row["lr"]), float(row["training_loss"])), (best["lr"], best["mean"]))
            self.assertEqual((best["n"], best["diverged"]), (2, 0))
            edge = {rates[0]: "smallest", rates[-1]: "largest"}.get(best["lr"], "")
            self.assertEqual(row["edge"], edge)
            self.assertEqual(f"# {row['method']}: the best rate is the {edge}".encode() in text, edge != "")
        self.assertEqual(sum(row["metric"] == "final_training_loss" for row in values),
                         2 * sum(map(len, tried.values())))
        figures = json.loads(content(self.path("out/synthetic-sweep/figures.json")))["figures"]
        self.assertEqual([figure["id"] for figure in figures], ["rates", "training"])
        page = content(self.path("out/index.html"))
        self.assertIn(b"medgrad sweep synthetic --size small", page)
        self.assertIn(b"--schedule cosine --factor 0", page)
        # Its config.json gives the same bytes again.
        self.good("run", self.path("out/synthetic-sweep/config.json"), "--threads", "1", "--quiet", "--out", self.path("again"))
        for file in ("config.json", "results.csv", "summary.json", "figures.json"):
            self.assertEqual(content(self.path("again/synthetic-sweep/" + file)),
                             content(self.path("out/synthetic-sweep/" + file)), file)
        self.assertFalse(os.path.exists(self.path("again/.unfinished")))
        self.good("run", self.path("out/synthetic-sweep/config.json"), "--seeds", "1", "--seed", "9", "--no-svg", "--threads",
                  "1", "--quiet", "--out", self.path("other"))
        config, summary, _ = self.results("other", "synthetic-sweep")
        self.assertEqual((config["seeds"], config["seed"]), (1, 9))
        self.assertEqual({row["n"] for row in summary["rows"]}, {1})

    def test_rates_that_diverge_are_marked(self):
        text = self.good(*sweep_with(rates="0.1,1e6", extend="0"), "--seeds", "2", "--quiet", "--out", self.path("out"))
        for row in csv_rows(text):
            self.assertEqual((row["lr"], row["edge"]), ("0.1", "smallest"))
        self.assertEqual(csv_rows(text)[0]["diverged"], "1e+06")
        figures = json.loads(content(self.path("out/synthetic-sweep/figures.json")))["figures"]
        self.assertEqual(figures[0]["panels"][0]["series"][0]["diverged"], [1e6])
        _, summary, _ = self.results("out", "synthetic-sweep")
        self.assertIn("SGD-M diverged at learning rate 1e+06.", summary["notes"])

    def test_results_of_another_sweep_stay(self):
        out = ("--quiet", "--steps", "1", "--out", self.path("out"))
        self.good(*SWEEP, *out)
        before = content(self.path("out/synthetic-sweep/results.csv"))
        self.bad("holds results with another 'methods'; --replace", *sweep_with(methods="adam"), *out)
        self.assertEqual(content(self.path("out/synthetic-sweep/results.csv")), before)
        self.good(*SWEEP, *out)
        config = self.path("out/synthetic-sweep/config.json")
        self.good("run", config, "--threads", "1", "--no-svg", "--quiet", "--out", self.path("out"))
        self.bad("holds results with another 'seed' ", "run", config, "--seed", "1", "--out", self.path("out"))
        self.good(*sweep_with(methods="adam"), "--replace", *out)

    def test_mistakes_in_a_file(self):
        self.good(*SWEEP, "--quiet", "--steps", "1", "--out", self.path("out"))
        good = json.loads(content(self.path("out/synthetic-sweep/config.json")))
        for key, value, sentence in (
                ("sweep", 3, r"c\.json:\d+: "), ("sweep", {"rates": [0]}, "'rates' must contain only numbers"),
                ("sweep", {"rate": [1]}, "Did you mean 'rates'"), ("lr", [1, 2], "'lr' and 'sweep' cannot both be given"),
                ("lr_schedule", {"name": "cosin"}, r"c\.json:\d+: "), ("lr_schedule", {}, "name"),
                ("lr_schedule", {"kind": "step", "every": 0}, "every")):
            self.bad(sentence, "run", self.file("c.json", json.dumps({**good, key: value})), "--out", self.path("x"))
            self.assertFalse(os.path.exists(self.path("x")))

    def test_goes_on(self):
        """Stopped and started again, or started twice: the same output, and nothing is run twice."""
        steps = (*SWEEP, "--steps", "40", "--quiet")
        out = ("--out", self.path("out"))
        runs = self.path("out/runs")
        code, output, error = self.stopped(*steps, *out, where=lambda: [
            os.path.join(runs, run, "metrics.jsonl") for run in (os.listdir(runs) if os.path.exists(runs) else ())])
        self.assertEqual((code, output), (1, b""))
        self.assertRegex(error, r"^medgrad: stopped; the runs are kept in \S+/out; run the same command again to continue\.\n$")
        self.assertEqual(os.listdir(self.path("out")), ["runs"])
        first = self.good(*steps, *out)
        when = {run: os.stat(os.path.join(runs, run, "metrics.jsonl")).st_mtime_ns for run in os.listdir(runs)}
        self.assertEqual(self.good(*steps, *out), first)
        for run_name, at in when.items():
            self.assertEqual(os.stat(os.path.join(runs, run_name, "metrics.jsonl")).st_mtime_ns, at, run_name)
        whole = self.good(*steps, "--out", self.path("whole"))
        self.assertEqual(csv_rows(whole), csv_rows(first))
        for file in ("config.json", "results.csv", "summary.json"):
            self.assertEqual(content(self.path("whole/synthetic-sweep/" + file)),
                             content(self.path("out/synthetic-sweep/" + file)), file)

    def test_mistakes(self):
        out = ("--out", self.path("out"))
        for option, value, sentence in (
                ("--methods", "vclip,vclip:tau=0.1", "--methods names vclip:tau=0.1 twice"),
                ("--methods", ",", "--methods is ',', in which an entry is empty"),
                ("--rates", "4..9", r"--rates is '4\.\.9'; there is no 10\^\(j/2\)"), ("--rates", "1..0.1", "--rates"),
                ("--rates", ",", "--rates is ','"), ("--rates", "1,0", "--rates has 0"), ("--rates", "1,1", "--rates has 1 twice"),
                ("--accumulate", "1000000", "fewer batches than one step")):
            self.bad(sentence, "sweep", "synthetic", "--size", "small", "--quiet", option, value, *out)
        os.makedirs(self.path("taken/synthetic-sweep"))
        self.file("taken/synthetic-sweep/letter.txt", "mine")
        self.bad("is not a result folder", *SWEEP, "--quiet", "--out", self.path("taken"))
        self.assertEqual(os.listdir(self.path("taken")), ["synthetic-sweep"])  # nothing was run


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

    def test_methods_with_parameters(self):
        self.good("gradients", *SMALL, "--methods", "vclip:tau=0.1,lp:p=3:tau=0.5,huber:mu=2", "--tau", "auto", "--out", self.path("out"))
        _, summary, _ = self.results("out", "gradients-synthetic")
        self.assertEqual({(row["method"], row["tau"]) for row in summary["rows"] if row["metric"] == "final_relative_error"},
                         {("vclip", 0.1), ("lp:p=3", 0.5), ("huber:mu=2", "auto")})

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
        self.bad("'ptp' is not a task. Did you mean 'ptb'", "gradients", "ptp", *out)
        for option, value, sentence in (
                ("--batch", "8,", "separated by commas"), ("--batch", "x", "whole number, 1 or more"),
                ("--batch", "8,8", "twice"), ("--tau", "0", "above 0"), ("--tau", "5", "0 < tau <= 1"),
                ("--steps", "0", "1 or more"), ("--methods", "vclib", "Did you mean 'vclip'"),
                ("--methods", "lp", "'p' is missing; lp needs it"), ("--methods", "vclip,,cclip", "in which an entry is empty"),
                ("--methods", "none", "there is nothing to do"), ("--dropout", "1", "below 1"), ("--size", "tiny", "paper or small"),
                ("--limit", "-1", "0 or more"), ("--memory", "-1", "GiB"), ("--batch", "999999", "too large"),
                ("--colour", "red", "is not an option")):
            self.bad(sentence, "gradients", "synthetic", option, value, *out)
        self.file("place", "no folder")
        self.bad("place", "gradients", *SMALL, "--out", self.path("place"))
        self.bad_data("ptb was not found", "gradients", "ptb", *out)


class Reproduce(LanguageTest):
    def test_changed_settings(self):
        """The paper's experiment with a task of made-up text in the place of the real one."""
        own = json.loads(self.good("reproduce", "fixed-ptb", "--print"))
        own["task"] = "synthetic"
        path = self.file("own.json", json.dumps({**own, "size": "small", "limit": 8, "steps": 20}))
        self.good("run", path, "--no-svg", "--threads", "1", "--out", self.path("out"))
        config, summary, _ = self.results("out", "fixed-ptb")
        self.assertEqual(config["paper_scale"], own["paper_scale"])
        self.assertEqual([claim["claim"] for claim in summary["claims"]],
                         ["CClip falls fastest, then VClip", "momentum is lowest in the long run",
                          "the speed gap grows with the batch size"])

    def test_training(self):
        """Each kind of experiment has options of its own."""
        self.make_ptb()
        small = ("reproduce", "train-ptb", "--size", "small", "--batch", "4", "--limit", "6", "--evaluation-limit", "1",
                 "--no-svg", "--jobs", "1", "--quiet")
        done = self.with_data(*small, "--methods", "vclip,sgd-m", "--seeds", "2", "--steps", "5", "--seed", "3", "--out",
                              self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        config, summary, rows = self.results("out", "train-ptb")
        self.assertEqual({key: config[key] for key in ("methods", "seeds", "seed", "steps", "batch", "limit", "size")},
                         {"methods": ["vclip", "sgd-m"], "seeds": 2, "seed": 3, "steps": 5, "batch": 4, "limit": 6,
                          "size": "small"})
        # The paper's rates of the methods named.
        self.assertEqual({(row["method"], row["lr"], row["n"]) for row in summary["rows"]}, {("VClip", 3.16, 2), ("SGD-M", 1, 2)})
        self.assertEqual({row["run"] for row in rows}, {"0", "1"})
        self.assertEqual([(claim["claim"], claim["holds"] is None) for claim in summary["claims"]],
                         [("VClip improves over SGD-M", False), ("CClip performs worse than VClip", True),
                          ("VClip does not close the gap to Adam", True)])
        self.assertIn("size small instead of paper; limit 6 instead of none; evaluation_limit 1 instead of none; seeds 2",
                      " ".join(summary["notes"]))
        page = content(self.path("out/index.html"))
        self.assertIn(b"medgrad reproduce train-ptb --size small --batch 4 --limit 6", page)
        self.assertIn(b"--seed 3", page)
        done = self.with_data(*small, "--methods", "huber:mu=2", "--lr", "0.5", "--epochs", "1", "--out", self.path("other"))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        _, summary, _ = self.results("other", "train-ptb")
        self.assertEqual({row["lr"] for row in summary["rows"]}, {0.5})

        again = self.with_data("run", self.path("out/train-ptb/config.json"), "--seeds", "1", "--seed", "4", "--no-svg",
                               "--jobs", "1", "--quiet", "--out", self.path("again"))
        self.assertEqual(again.returncode, 0, again.stderr.decode())
        config, _, _ = self.results("again", "train-ptb")
        self.assertEqual((config["seeds"], config["seed"]), (1, 4))
        self.assertIn(b"config.json --seeds 1 --seed 4", content(self.path("again/index.html")))

    def test_options_that_do_not_apply(self):
        out = ("--out", self.path("out"))
        for name, option, sentence in (
                ("train-ptb", ("--tau", "0.1"), "--tau does not apply to train-ptb"),
                ("train-ptb", ("--noise",), "--noise does not apply to train-ptb"),
                ("fixed-ptb", ("--seeds", "2"), "--seeds does not apply to fixed-ptb, an experiment of the kind 'gradients'"),
                ("film", ("--seeds", "2"), "--seeds does not apply to film, an experiment of the kind 'film'"),
                ("fixed-ptb", ("--epochs", "3"), "--epochs does not apply to fixed-ptb"),
                ("train-ptb", ("--batch", "8,16"), "--batch is '8,16'"),
                ("train-ptb", ("--lr", "1,2"), "--lr has 2 learning rates for 5 methods"),
                ("train-ptb", ("--methods", "huber"), "--methods names huber, for which the paper has no learning rate"),
                ("train-ptb", ("--jobs", "2", "--threads", "2"), "--jobs and --threads")):
            self.bad(sentence, "reproduce", name, *option, *out)
        # Which options apply is the kind's to say, wherever it is run from.
        self.bad("--seeds is '0'; it must be a whole number", "reproduce", "byzantine", "fixed-ptb", "--seeds", "0", *out)

    def test_synthetic_experiments_beside(self):
        """One command runs all kinds, and each is what it is by itself."""
        self.good("gradients", *SMALL, "--out", self.path("a"), "--quiet")
        self.good("reproduce", "toy", "--seeds", "2", "--no-svg", "--quiet", "--out", self.path("a"))
        self.good("reproduce", "projection", "--no-svg", "--quiet", "--out", self.path("a"))
        both = [self.path(f"a/{name}/config.json") for name in ("gradients-synthetic", "toy", "projection")]
        self.good("run", *both, "--no-svg", "--threads", "1", "--quiet", "--out", self.path("b"))
        for name in ("gradients-synthetic", "toy", "projection"):
            for file in ("config.json", "results.csv", "summary.json", "figures.json"):
                self.assertEqual(content(self.path(f"a/{name}/{file}")), content(self.path(f"b/{name}/{file}")), (name, file))
        self.good("run", both[1], both[2], both[0], "--seed", "5", "--no-svg", "--threads", "1", "--quiet", "--out", self.path("c"))
        for name in ("gradients-synthetic", "toy"):
            self.assertEqual(self.results("c", name)[0]["seed"], 5)
        self.bad("--tau does not apply to toy", "reproduce", "fixed-ptb", "toy", "--tau", "0.1")

    def test_names(self):
        listed = json.loads(self.good("list", "experiments", "--format", "json"))["experiments"]
        language = [one["name"] for one in listed if "needs libtorch" in one["meaning"]]
        self.assertLessEqual({"fixed-ptb", "fixed-wikitext2", "noise-ptb", "noise-wikitext2", "noise-squad"},
                             set(language))
        tasks = [one["name"] for one in json.loads(self.good("list", "tasks", "--format", "json"))["tasks"]]
        self.assertLess({"ptb", "wikitext2", "squad"}, set(tasks))
        self.assertIn(b"--paper-scale", self.good("reproduce", "fixed-ptb", "--help"))
        self.bad("Did you mean 'fixed-ptb'", "reproduce", "fixed-ptp")
        # A folder may be called like an experiment.
        self.bad("'toi' is not an experiment", "reproduce", "toi", "--out", "fixed-ptb")


if __name__ == "__main__":
    unittest.main()
