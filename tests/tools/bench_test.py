"""A kernel that has been made slower is noticed, by its instructions and by its ratio; a busy machine does not decide.

Run by CTest as: bench_test.py BENCH BUILD, the folders.
"""

import importlib.util
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
del sys.argv[1:3]
STEP = {"kind": "step", "type": "float", "rows": 1, "columns": 8192}


def load(name):
    sys.path.insert(0, str(BENCH))
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Instructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.floors = pathlib.Path(folder.name) / "floors.json"
        self.floors.write_text(json.dumps({"margin": 0.1, "instructions": [{**STEP, "what": "cclip"}, {**STEP, "what": "vclip"}],
                                           "ratios": {}}))

    def check(self, *arguments):
        return subprocess.run([sys.executable, "-B", BENCH / "check.py", "--build", BUILD, "--floors", self.floors, *arguments],
                              capture_output=True, text=True, check=False)

    @unittest.skipUnless(shutil.which("valgrind") and load("check").has_avx2(), "needs valgrind and AVX2")
    def test_a_slowed_kernel_is_caught(self):
        self.assertEqual(self.check("--update").returncode, 0)
        again = self.check()
        self.assertEqual((again.returncode, again.stdout.count("SLOWER")), (0, 0), again.stdout)
        slowed = self.check("--program", "medgrad_bench_slowed")
        self.assertEqual((slowed.returncode, slowed.stdout.count("SLOWER")), (1, 2), slowed.stdout)
        self.assertIn("2 of 2 take more than 10% more instructions", slowed.stdout)

    @unittest.skipUnless(shutil.which("valgrind") and load("check").has_avx2(), "needs valgrind and AVX2")
    def test_the_margin_is_what_decides(self):
        self.assertEqual(self.check("--update").returncode, 0)
        kept = json.loads(self.floors.read_text())
        cclip, vclip = kept["instructions"]
        cclip["per_entry"] /= 1.12
        vclip["per_entry"] /= 1.08
        self.floors.write_text(json.dumps(kept))
        done = self.check()
        self.assertEqual((done.returncode, [line.split(",")[0] for line in done.stdout.splitlines() if "SLOWER" in line]), (1, ["cclip"]),
                         done.stdout)

    @unittest.skipUnless(shutil.which("valgrind") and load("check").has_avx2(), "needs valgrind and AVX2")
    def test_what_has_no_floor_fails(self):
        self.assertEqual(self.check().returncode, 1)


class Ratios(unittest.TestCase):
    def setUp(self):
        self.run_module = load("run")
        self.floors = {"margin": 0.1, "ratios": {"a step / bare loop": 0.9}}

    def check(self, *measured, others=lambda: 0):
        """The verdict on a section whose row has these ratios, one for every time it is measured."""
        ratios = iter(measured)
        self.run_module.others_seconds = others
        known = {"online": lambda: [{"what": "a step", "peer": "20 GB/s (bare loop)", "ratio": next(ratios)}]}
        return self.run_module.check(self.run_module.rows_of("online", known), known, self.floors)

    def test_slower_every_time(self):
        self.assertEqual(self.check(0.7, 0.72, 0.71), 1)

    def test_within_the_margin(self):
        self.assertEqual(self.check(0.82), 0)

    def test_a_busy_moment(self):
        self.assertEqual(self.check(0.5, 0.6, 0.91), 0)

    def test_beside_others_nothing_is_said(self):
        self.assertEqual(self.check(0.5, 0.6, 0.7, others=itertools.count().__next__), 0)

    def test_slower_while_others_pause(self):
        had = iter([0, 1, 1, 1, 1, 2])  # they are busy in the first and in the last of three times
        self.assertEqual(self.check(0.7, 0.72, 0.71, others=had.__next__), 1)

    def test_versions_of_peers_do_not_matter(self):
        row = {"what": "stable pdf", "peer": "463 us (scipy 1.10.1)"}
        self.assertEqual(self.run_module.key_of(row), "stable pdf / scipy")

    def test_what_has_no_floor_fails(self):
        self.floors["ratios"] = {}
        self.assertEqual(self.check(0.91), 1)

    def test_a_peer_that_could_not_be_had_is_no_failure(self):
        missing = {**load("measure").could_not_be_had("rules", "byzfl"), "section": "growth", "busy": False}
        self.assertEqual(self.run_module.check([missing], {}, self.floors), 0)

    def test_every_row_of_the_quick_benchmark_has_a_floor(self):
        kept = json.loads((BENCH / "floors.json").read_text(encoding="utf-8"))["ratios"]
        for start in ("vclip robust, 20 M floats / ", "median, 5 x 1 M floats / ", "estimate vclip, 0.098 GB of CSV / ", "krum, 64 x 65536 floats / ",
                      "stable pdf, alpha 1.5, beta 0.5 / ", "torch vclip, 20 M floats in 1 tensor / "):
            self.assertTrue(any(key.startswith(start) for key in kept), start)


class Table(unittest.TestCase):
    MACHINE = {"date": "2026-01-01", "cpu": "a processor", "cores": 2, "simd": "AVX2", "compiler": "GCC"}

    def setUp(self):
        self.table = load("table")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.document = pathlib.Path(folder.name) / "performance.md"
        self.document.write_text("Before.\n<!-- bench: online -->\nold\n<!-- end of bench -->\nAfter.\n")

    def rows(self, power):
        return [{"section": "online", "what": f"step {n}", "ours": "1 GB/s", "peer": "2 GB/s (bare loop)", "ratio": 0.5, "target": None,
                 "operation": "step", "size": n, "seconds": 1e-9 * n**power} for n in (1000, 10000, 1000000)]

    def test_exponents(self):
        for power in (1, 2):
            self.assertAlmostEqual(self.table.exponents(self.rows(power))[0]["exponent"], power, places=9)
        self.assertEqual(self.table.exponents(self.rows(1)[:2]), [])  # two sizes make no law

    def test_many_sizes_are_not_all_in_the_table(self):
        self.assertEqual(self.table.some([1, 2, 3]), [1, 2, 3])
        self.assertEqual(self.table.some(list(range(21))), list(range(0, 21, 2)))

    def test_rules_are_a_line_for_every_shape(self):
        def row(name, n, peer, ratio, target):
            return {"section": "growth", "what": f"{name}, {n} x 8 floats", "ours": "1 ms", "peer": f"1 ms ({peer})", "ratio": ratio,
                    "target": target, "n": n, "d": 8, "name": name}

        self.document.write_text("<!-- bench: growth -->\n<!-- end of bench -->\n")
        self.table.write({"machine": self.MACHINE, "results": [
            row("median", 4, "adding up", 0.5, 0.6), row("Gram matrix", 4, "fused", 0.5, 0.5), row("median", 4, "byzfl", 20, 1),
            row("median", 9, "adding up", 0.8, 0.6)]}, self.document)
        text = self.document.read_text()
        self.assertIn("| rows x length | median | Gram matrix |\n| --- | --- | --- |\n| 4 x 8 | **2.00** | 50 % |\n| 9 x 8 | 1.25 |  |\n", text)
        self.assertIn("| rows x length | median, byzfl |\n| --- | --- |\n| 4 x 8 | 20.0 |\n", text)

    def test_a_peer_that_could_not_be_had(self):
        row = {"section": "online", "what": "rules", "ours": "", "peer": "could not be had (byzfl)", "ratio": None, "target": None}
        self.table.write({"machine": self.MACHINE, "results": [row]}, self.document)
        self.assertIn("| rules |  | could not be had (byzfl) |  |  |", self.document.read_text())

    def test_tables_go_between_the_markers(self):
        data = {"machine": self.MACHINE, "results": self.rows(1) + [{**self.rows(1)[0], "section": "stable"}]}
        self.assertEqual(self.table.write(data, self.document), (["online"], ["stable"]))
        text = self.document.read_text()
        self.assertTrue(text.startswith("Before.\n<!-- bench: online -->\n`./dev bench online`, 2026-01-01: a processor"))
        self.assertTrue(text.endswith("<!-- end of bench -->\nAfter.\n"))
        self.assertNotIn("old", text)
        self.assertIn("| step 1000 | 1 GB/s | 2 GB/s (bare loop) | 0.50 |  |", text)
        self.table.write(data, self.document)
        self.assertEqual(self.document.read_text(), text)  # writing it again changes nothing


if __name__ == "__main__":
    unittest.main()
