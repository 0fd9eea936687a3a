"""The medgrad command as a program: help, options, lists, streams and pipes.

Run by CTest as: command_line_test.py MEDGRAD.
"""

import json
import os
import shutil
import subprocess
import unittest

from command import MEDGRAD, CommandTest, run


class Everything(CommandTest):
    def test_help_and_version(self):
        self.assertRegex(self.good("--version"), rb"^medgrad \d+\.\d+\.\d+\n$")
        for arguments in ([], ["--help"], ["help"]):
            self.assertIn(b"estimate", self.good(*arguments))
        for command in ("list", "doctor", "prox", "project", "estimate", "aggregate", "report"):
            text = self.good(command, "--help").decode()
            self.assertTrue(text.startswith(f"usage: medgrad {command} "))
            for option in ("--seed", "--threads", "--quiet", "--help"):
                self.assertIn(option, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
        text = b" ".join(self.good("estimate", "vclip", "--help").split())
        for part in (b"min(1, tau/|g-m|)", b"0 < tau < inf", b"default 1"):
            self.assertIn(part, text)
        self.assertNotIn(b"--mu", text)

    def test_list(self):
        everything = json.loads(self.good("list", "--format", "json"))
        self.assertEqual(list(everything), ["methods", "distances", "aggregators", "pre-aggregators", "workers", "attacks", "noises",
                                            "optimizers", "schedules", "experiments", "tasks"])
        for kind, entries in everything.items():
            text = self.good("list", kind).decode()
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            for entry in entries:
                self.assertIn(entry["name"], text)
                for parameter in entry["parameters"]:
                    self.assertEqual(parameter["required"], parameter["default"] is None)
        self.assertIn(b"| `vclip`", self.good("list", "--format", "markdown"))
        self.bad("must be methods, distances, aggregators, pre-aggregators, workers, attacks, noises, optimizers, schedules, experiments or tasks", "list", "everything")
        self.bad("must be text, json or markdown", "list", "--format", "xml")

    def test_libtorch_is_loaded_only_on_demand(self):
        libraries = subprocess.run(["ldd", MEDGRAD], capture_output=True, text=True).stdout
        self.assertIn("libc.so", libraries)
        self.assertNotIn("torch", libraries)

    def test_doctor_shows_libtorch_and_its_blas(self):
        torch = json.loads(self.good("doctor", "--format", "json", "--threads", 1))["torch"]
        if torch is False:
            self.skipTest("this build has no libtorch")
        self.assertEqual(torch["threads"], 1)
        self.assertTrue(os.path.exists(torch["blas"]), torch["blas"])
        if "openblas-openmp" in torch["blas"]:
            self.assertEqual((torch["blas_threading"], torch["warning"]), ("openmp", ""))
        shown = self.good("doctor").decode()
        self.assertIn(torch["version"], shown)
        self.assertIn("BLAS of torch", shown)

    def test_doctor(self):
        os.mkdir(self.path("ptb"))
        os.mkdir(self.path("squad"))
        for part in ("train", "valid", "test"):
            self.file(f"ptb/ptb.{part}.txt", "a\n")
        environment = {**os.environ, "MEDGRAD_DATA": self.folder.name, "MEDGRAD_SIMD": "SCALAR",
                       "XDG_DATA_HOME": self.folder.name}
        result = run("doctor", "--format", "json", env=environment)
        doctor = json.loads(result.stdout)
        self.assertEqual(doctor["simd"], "SCALAR")
        self.assertIn("SCALAR", doctor["simd_available"])
        self.assertEqual(doctor["data"], {"ptb": True, "wikitext-2": False, "squad": False,
                                          "minilm-l6": False, "distilbert": False})
        self.assertIn(b"SIMD", self.good("doctor"))
        wrong = run("doctor", env={**os.environ, "MEDGRAD_SIMD": "MMX"})
        self.assertEqual((wrong.returncode, wrong.stdout), (2, b""))

    def test_what_is_missing_is_named(self):
        os.mkdir(self.path("bin"))
        alone = shutil.copy(MEDGRAD, self.path("bin", "medgrad"))  # medgrad-torch is not with it
        for arguments in (["train", "synthetic"], ["gradients", "--help"], ["reproduce", "train-ptb"]):
            result = subprocess.run([alone, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"neither {self.path('bin', 'medgrad-torch')} nor {self.path('libexec', 'medgrad', 'medgrad-torch')} "
                          "exists; it is built", result.stderr)
        listed = run("data", "list", env={})
        self.assertEqual(listed.returncode, 0)
        self.assertIn(b"There is no folder to look in: neither MEDGRAD_DATA", listed.stdout)
        self.assertNotIn(b"in this order", listed.stdout)
        verified = run("data", "verify", env={})
        self.assertEqual((verified.returncode, verified.stdout), (2, b""))
        self.assertIn(b"set MEDGRAD_DATA to the folder", verified.stderr)

    def test_common_options_are_taken_everywhere(self):
        data = self.rows()
        for command in (["list"], ["doctor"], ["prox", "l1", "--tau", 1, data],
                        ["project", "--q", 2, "--radius", 1, data], ["estimate", "vclip", data],
                        ["aggregate", "median", data]):
            self.good(*command, "--seed", 7, "--threads", 2, "--quiet")


class CommandLine(CommandTest):
    def test_bad(self):
        data = self.rows()
        self.bad("'estimat' is not a command. Did you mean 'estimate'\\?", "estimat")
        self.bad("'foo' is not a command; medgrad help shows all of them", "foo")
        self.bad("a command comes before its options", "--quiet", "list")
        self.bad("--tua is not an option of medgrad estimate. Did you mean --tau\\?", "estimate", "vclip",
                 "--tua", 1, data)
        self.bad("-x is not an option of medgrad estimate; see medgrad help estimate", "estimate", "vclip", "-x", data)
        self.bad("--tau needs a value", "estimate", "vclip", data, "--tau")
        self.bad("--tau may be given only once", "estimate", "vclip", data, "--tau", 1, "--tau", 2)
        self.bad("--tau needs a value", "estimate", "vclip", data, "--tau", "")
        self.bad("FILE is empty", "estimate", "vclip", "")
        self.bad("is one argument too many", "estimate", "vclip", data, data)
        self.bad("--threads is 'x'", "list", "--threads", "x")
        self.bad("--seed is '-1'", "list", "--seed", "-1")
        for command in (["list"], ["estimate", "vclip", data], ["noise", "sample", "--alpha", 1], ["doctor"],
                        ["theory", "cn", "--alpha", 1, "--n", 3]):
            self.bad("--threads is '99999999999999999999'", *command, "--threads", "99999999999999999999")
            self.bad("--threads is 1025; it must be at most 1024", *command, "--threads", 1025)
            self.bad("--jobs is 1025; it must be at most 1024", *command, "--jobs", 1025)
            self.bad("--jobs and --threads are the same", *command, "--jobs", 1, "--threads", 1)
            self.bad("--threads is '-1'", *command, "--threads", "-1")

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_exit_code_1(self):
        data = self.rows()
        for arguments in (["list"], ["estimate", "vclip", data],
                          ["estimate", "vclip", "--format", "npy", data]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([MEDGRAD, *arguments], stdout=full, stderr=subprocess.PIPE,
                                        check=False)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr.decode(),
                             r"^medgrad: standard output cannot be written: .*\.\n$")

    def test_a_live_stream_is_answered_row_by_row(self):
        # The answer to a row comes before the next row is sent, though neither end is a terminal.
        with subprocess.Popen([MEDGRAD, "estimate", "vclip", "--tau", "100", "--every", "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for row in (b"1,2\n", b"3,4\n"):
                process.stdin.write(row)
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), row)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def test_a_closed_pipe_ends_quietly(self):
        data = self.file("x.csv", "1,2,3\n" * 200000)
        with subprocess.Popen([MEDGRAD, "prox", "l1", "--tau", "0.5", data], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"0.5,1.5,2.5\n")
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, 1)


if __name__ == "__main__":
    unittest.main()
