"""What the tests of medgrad reproduce and medgrad run share."""

import csv
import json
import os

from command import CommandTest, content, run

# Under a sanitizer everything takes ten times as long.
SLOW = os.environ.get("MEDGRAD_SANITIZED", "") not in ("", "OFF", "0")
FILES = ("config.json", "results.csv", "summary.json", "figures.json")
SMALL = {"experiment": "own", "objective": {"name": "quadratic", "d": 2}, "noise": {"name": "cauchy"},
         "methods": [{"name": "vclip", "tau": 0.5}], "eta": 0.1, "steps": 20, "seeds": 2}


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


class ExperimentsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.path("out")

    def file(self, name, what):
        return super().file(name, json.dumps(what) if isinstance(what, dict) else what)

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
