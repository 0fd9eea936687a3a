"""medgrad reproduce and medgrad run, end to end: the same bytes from any number of threads, after any interruption;
result folders that are whole or not there; every mistake in a file told in one sentence.

Run by CTest as: experiments_test.py MEDGRAD.
"""

import csv
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

MEDGRAD = ""
# Under a sanitizer everything takes ten times as long.
SLOW = os.environ.get("MEDGRAD_SANITIZED", "") not in ("", "OFF", "0")
FILES = ("config.json", "results.csv", "summary.json", "figures.json")
SMALL = {"experiment": "own", "objective": {"name": "quadratic", "d": 2}, "noise": {"name": "cauchy"},
         "methods": [{"name": "vclip", "tau": 0.5}], "eta": 0.1, "steps": 20, "seeds": 2}


def command(*arguments):
    return [MEDGRAD, *map(str, arguments)]


def run(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, timeout=300, check=False, **options)


def content(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def read_json(*parts):
    """The document; a key that is there twice, or NaN, is no JSON here."""
    def unique(pairs):
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    def no_constant(name):
        raise AssertionError(name)
    return json.loads(content(*parts), object_pairs_hook=unique, parse_constant=no_constant)


def read_csv(*parts):
    with open(os.path.join(*parts), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class ExperimentsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = self.path("out")

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def file(self, name, what):
        path = self.path(name)
        with open(path, "wb") as out:
            out.write(what if isinstance(what, bytes) else
                      what.encode() if isinstance(what, str) else json.dumps(what).encode())
        return path

    def good(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def bytes_of(self, out, name):
        return {file: content(out, name, file) for file in FILES}

    def check_folder(self, folder, runs=None):
        """A whole result folder."""
        summary = read_json(folder, "summary.json")
        config = read_json(folder, "config.json")
        read_json(folder, "figures.json")
        self.assertEqual(summary["experiment"], config["experiment"])
        lines = read_csv(folder, "results.csv")
        if runs:
            rows = [row for row in summary["rows"] if not row["metric"].startswith("final_")]
            self.assertEqual(len(lines), runs * len(rows))
            self.assertTrue(all(row.get("runs", row.get("n")) + row["diverged"] == runs for row in rows))
        self.assertTrue(content(folder, "results.csv").endswith(b"\n"))
        return summary


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


# ---- Interruptions ------------------------------------------------------------------------------

def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return struct.pack("<Q", value)


def read_journal(path):
    """(header, {task: numbers}) of a journal; records that are cut off left out."""
    try:
        data = content(path)
    except FileNotFoundError:
        return b"", {}
    match = re.match(rb"medgrad journal [^ ]+ ", data)
    if not match or len(data) < match.end() + 8:
        return b"", {}
    at, tasks = match.end() + 8, {}
    while len(data) - at >= 24:
        task, count = struct.unpack_from("<QQ", data, at)
        end = at + 16 + 8 * count
        if len(data) < end + 8:
            break
        assert data[end:end + 8] == checksum(data[at:end])
        tasks[task] = struct.unpack_from(f"<{count}d", data, at + 16)
        at = end + 8
    return data[:match.end() + 8], tasks


def journal_bytes(header, tasks):
    data = header
    for task, numbers in tasks.items():
        record = struct.pack("<QQ", task, len(numbers)) + struct.pack(f"<{len(numbers)}d", *numbers)
        data += record + checksum(record)
    return data


class Interruptions(ExperimentsTest):
    SEEDS = 10 if SLOW else 40

    def start(self, *arguments):
        return subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_when(self, process, ready):
        """kill -9 as soon as something is so; False where the process ended before."""
        while not ready():
            if process.poll() is not None:
                return False
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return process.returncode != 0

    def kill_after(self, process, seconds):
        begin = time.monotonic()
        return self.kill_when(process, lambda: time.monotonic() - begin >= seconds)

    def test_a_run_that_is_killed_goes_on_where_it_was(self):
        arguments = ("reproduce", "toy-long", "--seeds", self.SEEDS, "--no-svg", "--jobs", 2, "--out")
        whole = self.path("whole")
        self.good(*arguments, whole, "--quiet")
        expected = self.bytes_of(whole, "toy-long")
        # An older result with another seed stays until the new one is there.
        self.good("reproduce", "toy-long", "--seeds", 1, "--seed", 5, "--no-svg", "--out", self.out)
        old = self.bytes_of(self.out, "toy-long")
        journal = os.path.join(self.out, ".unfinished", "toy-long")
        rng = random.Random(1)
        done = 0
        for _ in range(8):
            if self.kill_after(self.start(*arguments, self.out), rng.uniform(0, 0.9)):
                self.assertIn(self.bytes_of(self.out, "toy-long"), (old, expected))
            count = len(read_journal(journal)[1])
            if self.bytes_of(self.out, "toy-long") == expected:
                break
            self.assertGreaterEqual(count, done)
            done = count
        self.good(*arguments, self.out, "--quiet")
        self.assertEqual(self.bytes_of(self.out, "toy-long"), expected)
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "toy-long"])

    def test_finished_tasks_are_not_done_again(self):
        arguments = ("reproduce", "toy-long", "--seeds", self.SEEDS, "--no-svg", "--jobs", 1, "--out")
        journal = os.path.join(self.out, ".unfinished", "toy-long")
        process = self.start(*arguments, self.out)
        if not self.kill_when(process, lambda: len(read_journal(journal)[1]) > 0):
            self.skipTest("this machine is done before it writes anything down")
        self.assertFalse(os.path.exists(os.path.join(self.out, "toy-long")))
        header, tasks = read_journal(journal)
        self.assertLess(len(tasks), 11 * self.SEEDS)
        # What stands in the journal counts: another number there is another number in the results.
        task = max(tasks)
        tasks[task] = (123.5, *tasks[task][1:])
        with open(journal, "wb") as file:
            file.write(journal_bytes(header, tasks))
        self.good(*arguments, self.out, "--quiet")
        self.good(*arguments, self.path("whole"), "--quiet")
        pairs = list(zip(read_csv(self.out, "toy-long", "results.csv"),
                         read_csv(self.path("whole"), "toy-long", "results.csv"), strict=True))
        different = [(a["value"], int(a["run"]), b["run"], a["step"]) for a, b in pairs if a != b]
        self.assertEqual(different, [("123.5", task % self.SEEDS, str(task % self.SEEDS), "0")])
        # Where the settings changed, it counts for nothing.
        os.makedirs(os.path.dirname(journal))
        with open(journal, "wb") as file:
            file.write(journal_bytes(header, tasks))
        self.good("reproduce", "toy-long", "--seeds", 2, "--no-svg", "--out", self.out, "--quiet")
        self.assertNotIn(b"123.5", content(self.out, "toy-long", "results.csv"))
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "toy-long"])

    def test_other_data_are_another_experiment(self):
        data = self.file("data.csv", "1,2\n2,3\n3,5\n")
        config = self.file("x.json", {**SMALL, "objective": {"name": "least-squares", "file": data}})
        self.good("run", config, "--no-svg", "--out", self.out)
        # A journal as a killed run would leave it, with a number that was never computed. It belongs
        # to the settings and the data.
        version = self.good("--version").split()[1]
        header = f"medgrad journal {version} ".encode() + checksum(content(self.out, "own", "config.json") + content(data))
        journal = os.path.join(self.out, ".unfinished", "own")
        for changed in (False, True):
            os.makedirs(os.path.dirname(journal))
            with open(journal, "wb") as file:
                file.write(journal_bytes(header, {0: [123.5] * 21}))
            if changed:
                self.file("data.csv", "1,2\n2,3\n3,50\n")
            self.good("run", config, "--no-svg", "--out", self.out)
            self.assertEqual(b"123.5" in content(self.out, "own", "results.csv"), not changed)
            self.assertFalse(os.path.exists(os.path.dirname(journal)))

    def test_killed_at_any_moment_a_folder_is_whole_or_not_there(self):
        config = self.file("x.json", SMALL)
        arguments = ("run", config, "--out")
        self.good(*arguments, self.path("whole"))
        begin = time.monotonic()
        self.good(*arguments, self.path("whole"))
        duration = time.monotonic() - begin
        expected = self.bytes_of(self.path("whole"), "own")
        figures = sorted(os.listdir(self.path("whole", "own")))
        rng = random.Random(2)
        killed = 0
        for i in range(30):
            drawn = ("--no-svg",) if i % 3 else ()
            killed += self.kill_after(self.start(*arguments, self.out, *drawn), rng.uniform(0, 1.1 * duration))
            if os.path.exists(os.path.join(self.out, "own")):
                self.assertEqual(self.bytes_of(self.out, "own"), expected)
                if i % 2:
                    shutil.rmtree(os.path.join(self.out, "own"))
        self.good(*arguments, self.out)
        self.assertEqual(self.bytes_of(self.out, "own"), expected)
        self.assertEqual(sorted(os.listdir(os.path.join(self.out, "own"))), figures)
        self.assertEqual(sorted(os.listdir(self.out)), ["index.html", "own"])
        self.assertGreater(killed, 0)

    def test_two_at_once(self):
        config = self.file("x.json", {**SMALL, "seeds": 50})
        processes = [self.start("run", config, "--no-svg", "--out", self.out) for _ in range(4)]
        self.assertEqual([process.wait() for process in processes], [0] * 4)
        self.check_folder(os.path.join(self.out, "own"), runs=50)
        self.good("run", config, "--no-svg", "--out", self.path("alone"))
        self.assertEqual(self.bytes_of(self.out, "own"), self.bytes_of(self.path("alone"), "own"))

    def test_others_that_wait_keep_their_journals(self):
        journal = self.path("out", ".unfinished", "another")
        os.makedirs(os.path.dirname(journal))
        self.file("out/.unfinished/another", b"medgrad journal x ")
        self.good("run", self.file("x.json", SMALL), "--no-svg", "--out", self.out)
        self.assertTrue(os.path.exists(journal))
        self.file("out/own/notes.txt", "mine")
        self.good("run", self.file("x.json", SMALL), "--no-svg", "--out", self.out)
        self.assertEqual(content(self.out, "own", "notes.txt"), b"mine")


# ---- Mistakes -----------------------------------------------------------------------------------

class Mistakes(ExperimentsTest):
    def bad(self, sentence, *arguments):
        """One sentence that matches, exit code 2, nothing printed, nothing written."""
        before = sorted(os.listdir(self.folder.name))
        result = run(*arguments, cwd=self.folder.name)
        error = result.stderr.decode(errors="replace")
        with self.subTest(arguments=arguments, error=error):
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertTrue(re.fullmatch(r"medgrad: [^\n]+\.\n", error))
            self.assertRegex(error, sentence)
            self.assertEqual(sorted(os.listdir(self.folder.name)), before)

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
        self.bad_file("no JSON", "", 1)
        self.bad_file("no JSON", '{\n"experiment": "x"\n', 2)
        self.bad_file("no JSON", "experiment: x\n", 1)
        self.bad_file("no JSON", b'{\n"experiment": "\xff"}', 2)
        self.bad_file("'seed' is given twice", '{\n"seed": 1,\n"seed": 2}', 3)
        self.bad_file("nested", "[" * 100000, 1)
        self.bad_file("is a list; it must be an object", "[]", 1)
        self.bad_file("is text; it must be an object", '"toy"', 1)

    def test_files(self):
        self.bad("nothing.json cannot be read", "run", self.path("nothing.json"), "--out", self.out)
        self.bad("cannot be read", "run", self.folder.name, "--out", self.out)
        self.bad("FILE is missing", "run", "--out", self.out)
        good = self.file("good.json", SMALL)
        self.bad("two experiments are called 'own'", "run", good, good, "--out", self.out)
        self.bad("is no experiment; the nearest is 'toy'", "reproduce", "toi", "--out", self.out)
        self.bad("two experiments are called 'toy'", "reproduce", "toy", "toy", "--out", self.out)
        self.bad("cannot be made", "run", good, "--out", good)
        self.bad("cannot be made", "run", good, "--out", os.path.join(good, "deeper"))
        self.bad("cannot be made", "run", good, "--out", "/proc/medgrad")
        self.bad("--seeds", "run", good, "--seeds", 0, "--out", self.out)
        self.bad("--seeds", "run", good, "--seeds", "many", "--out", self.out)
        self.bad("--jobs", "run", good, "--jobs", 0, "--out", self.out)
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
            self.bad("own is there already and is no result folder", "run", good, "--out", self.out)
            self.assertEqual(os.listdir(self.out), ["own"])
            shutil.rmtree(self.out)

    def test_keys(self):
        self.bad_key("has no 'experiment'", experiment=...)
        self.bad_key("'experiment' is a number; it must be text", experiment=5)
        self.bad_key("'experiment' is '../x'; .*letters, digits", experiment="../x")
        self.bad_key("'experiment' is ''", experiment="")
        self.bad_key("'stepz' is no key of the experiment; the nearest is 'steps'", stepz=3)
        self.bad_key("'kind' is 'moment'; the nearest that is known is 'moments'", kind="moment")
        self.bad_key("'steps' is -1; .*whole number", steps=-1)
        self.bad_key("'steps' is 0;", steps=0)
        self.bad_key("'steps' is 1.5;", steps=1.5)
        self.bad_key("'steps' is text; it must be a number", steps="many")
        self.bad_key("'seeds' is 0;", seeds=0)
        self.bad_key("'seeds' is a list; it must be a number", seeds=[1, 2])
        self.bad_key("'seed' is -1;", seed=-1)
        self.bad_key("'batch' needs an objective that has data", batch=4)
        self.bad_key("'eta' is -0.1;", eta=-0.1)
        self.bad_key("'eta' is -2;", eta={"schedule": "inverse", "value": -2})
        self.bad_key("'schedule' is 'cosin'; the nearest that is known is 'cosine'", eta={"schedule": "cosin", "value": 1})
        self.bad_key("has no 'value'", eta={"schedule": "cosine"})
        self.bad_key("'factor' is -1;", eta={"schedule": "step", "value": 1, "factor": -1})
        self.bad_key("not finite where every component of w is inf", w0="inf")
        self.bad_key("not finite where every component of w is 1e\\+200", w0=1e200)
        self.bad_key("'divergence' must be positive", divergence=0)
        self.bad_key("'metrics' names no metric", metrics="")
        self.bad_key("'objektive' is no metric; the nearest is 'objective'", metrics="gradient_sq objektive")
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
        self.bad_key("a method is text; it must be an object", methods=["vclip"])
        self.bad_key("a method has no 'name'", methods=[{"tau": 1}])
        self.bad_key("'vclop' is no method; the nearest is 'vclip'", methods=[{"name": "vclop"}])
        self.bad_key("has no 'p'", methods=[{"name": "smgd-lp-median"}])
        self.bad_key("'tau' is -1; it must satisfy 0 < tau", methods=[{"name": "vclip", "tau": -1}])
        self.bad_key("'tau' is text; it must be a number", methods=[{"name": "vclip", "tau": "big"}])
        self.bad_key("tau", methods=[{"name": "vclip", "tau": {"value": 0}}])
        self.bad_key("'tua' is no key of a method; the nearest is 'tau'", methods=[{"name": "vclip", "tua": 1}])
        self.bad_key("'n' is 2.5;", methods=[{"name": "smgd-l1", "n": 2.5}])
        self.bad_key("2 f < n|f", methods=[{"name": "smgd-trimmed-mean", "n": 2, "f": 1}])
        self.bad_key("cannot be inexact", methods=[{"name": "smgd-trimmed-mean", "inexact": 1}])
        self.bad_key("two methods are called 'vclip'", methods=[{"name": "vclip"}, {"name": "vclip", "tau": 2}])

    def test_noise(self):
        self.bad_key("the noise is text; it must be an object", noise="cauchy")
        self.bad_key("'cauchi' is no noise; the nearest is 'cauchy'", noise={"name": "cauchi"})
        self.bad_key("'alpha' is 3;", noise={"name": "stable", "alpha": 3})
        self.bad_key("alpha", noise={"name": "stable", "inv_alpha": 0.4})
        self.bad_key("alpha", noise={"name": "stable", "inv_alpha": 0})
        self.bad_key("'form' is 'S2'; the nearest", noise={"name": "stable", "alpha": 1.5, "form": "S2"})
        self.bad_key("'alpha' is no key of the noise", noise={"name": "cauchy", "alpha": 1})
        self.bad_key("'state_dependent' is a number; it must be true or false",
                     noise={"name": "cauchy", "state_dependent": 1})

    def test_objectives(self):
        self.bad_key("has no 'objective'", objective=...)
        self.bad_key("'name' is 'quadradic'; the nearest that is known is 'quadratic'", objective={"name": "quadradic"})
        self.bad_key("'d' is 0;", objective={"name": "l1-norm", "d": 0})
        self.bad_key("'rows' is no key of the objective", objective={"name": "quadratic", "rows": 3})
        self.bad_key("'condition' must be at least 1", objective={"name": "quadratic", "condition": 0.5})
        self.bad_key("ridge must not be negative", objective={"name": "least-squares", "ridge": -1})
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
                               ("is no estimator of numbers", {"methods": [{"name": "geometric-median"}]}),
                               ("the noise is text", {"noise": "cauchy"}), ("'methods' must be", {"methods": []}),
                               ("an estimator is text", {"methods": ["mean"]}),
                               ("'seeds' is no key", {"seeds": 3}), ("f", {"methods": [{"name": "trimmed-mean", "f": 2}]})):
            self.bad_file(sentence, {key: value for key, value in {**moments, **keys}.items() if value is not ...}, 1)
        projection = {"experiment": "p", "kind": "projection", "m": {"x": 0, "y": 0}, "g": {"x": 1, "y": 2},
                      "methods": [{"name": "vclip", "tau": 1}]}
        for sentence, keys in (("has no 'g'", {"g": ...}), ("has no 'y'", {"m": {"x": 1}}),
                               ("'z' is no key of the point 'm'", {"m": {"x": 1, "y": 1, "z": 1}}),
                               ("'adam' is no", {"methods": [{"name": "adam"}]})):
            self.bad_file(sentence, {key: value for key, value in {**projection, **keys}.items() if value is not ...}, 1)


# ---- Experiments of one's own -------------------------------------------------------------------

class OwnExperiments(ExperimentsTest):
    def run_own(self, **keys):
        self.good("run", self.file("own.json", {**SMALL, **keys}), "--out", self.out, "--no-svg")
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
                                               "normalized-sgd", "adam", "median-adam", "smgd-l1", "smgd-l2",
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
    MEDGRAD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
