"""What a shell user leans on: help, the manual page, completion, and progress that fits the terminal.

Run by CTest as: shell_test.py MEDGRAD.
"""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import unittest

from command import MEDGRAD, CommandTest, run


class Help(CommandTest):
    def commands(self):
        return re.findall(r"^  ([a-z]+)  ", self.good("help").decode(), re.MULTILINE)

    def test_help_of_a_command_is_its_option(self):
        commands = self.commands()
        self.assertIn("estimate", commands)
        for command in commands:
            shown, asked = run("help", command), run(command, "--help")
            self.assertEqual((shown.returncode, shown.stdout, shown.stderr),
                             (asked.returncode, asked.stdout, asked.stderr))
            for line in shown.stdout.decode().splitlines():
                self.assertLessEqual(len(line), 88, (command, line))
        self.assertEqual(self.good("help", "estimate", "vclip"), self.good("estimate", "vclip", "--help"))
        self.assertEqual(self.good("help"), self.good("--help"))
        self.assertEqual(self.good("-v"), self.good("--version"))
        self.bad("'estimte' is not a command. Did you mean 'estimate'\\?", "help", "estimte")
        self.bad("must be bash or zsh", "help", "--completion", "fish")

    def test_the_manual_page_has_everything(self):
        page = self.good("help", "--man").decode()
        plain = page.replace("\\-", "-")
        for command in self.commands():
            self.assertIn(f".SS medgrad {command}\n", page)
        for part in (".TH MEDGRAD 1", ".B --save-state FILE", "geometric-median", "MEDGRAD_DATA", ".SH EXIT STATUS",
                     ".B --threads N"):
            self.assertIn(part, plain)
        if shutil.which("groff") is None:
            self.skipTest("needs groff")
        shown = subprocess.run(["groff", "-ww", "-man", "-Kutf8", "-Tutf8", "-P-cbou"], input=page.encode(),
                               capture_output=True, check=True)
        self.assertEqual(shown.stderr, b"")
        self.assertIn("--save-state FILE", shown.stdout.decode())


@unittest.skipIf(shutil.which("bash") is None, "needs bash")
class BashCompletion(CommandTest):
    def complete(self, line):
        """What bash offers at the end of the line."""
        script = self.path("completion.bash")
        if not os.path.exists(script):
            self.file("completion.bash", self.good("help", "--completion", "bash"))
        # As readline does it: words are cut at blanks, and at the sign in --option=value.
        words = [part for word in line.split(" ") for part in re.split("(=)", word) if part or word == ""]
        if line.endswith("="):
            words.append("")
        done = subprocess.run(
            ["bash", "--norc", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _medgrad; '
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", script, *words],
            capture_output=True, text=True, cwd=self.folder.name, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete("medgrad est"), ["estimate"])
        self.assertEqual(self.complete("medgrad help agg"), ["aggregate"])
        self.assertIn("--version", self.complete("medgrad --"))
        self.assertEqual(self.complete("medgrad nothing x"), [])

    def test_names(self):
        listed = json.loads(self.good("list", "--format", "json"))
        names = {kind: [entry["name"] for entry in entries] for kind, entries in listed.items()}
        self.assertEqual(self.complete("medgrad estimate "), names["methods"])
        self.assertEqual(self.complete("medgrad aggregate "), names["aggregators"])
        self.assertEqual(self.complete("medgrad prox "), names["distances"])
        self.assertEqual(self.complete("medgrad noise sample --model "), names["noises"])
        self.assertEqual(self.complete("medgrad reproduce "), names["experiments"])
        self.assertEqual(self.complete("medgrad reproduce toy least-squares-s"),
                         [name for name in names["experiments"] if name.startswith("least-squares-s")])
        if run("train", "--help").returncode == 0:
            for command in ("train", "sweep", "gradients"):
                self.assertEqual(self.complete(f"medgrad {command} "), names["tasks"])
            self.assertIn("--paper-scale", self.complete("medgrad reproduce fixed-ptb --p"))
            self.assertIn("--evaluation-limit", self.complete("medgrad reproduce fixed-ptb --e"))

    def test_options_and_their_values(self):
        options = self.complete("medgrad estimate vclip --")
        for option in ("--tau", "--save-state", "--threads", "--help"):
            self.assertIn(option, options)
        self.assertNotIn("--weights", options)
        self.assertEqual(self.complete("medgrad list --format "), ["text", "json", "markdown"])
        self.assertEqual(self.complete("medgrad list --format=j"), ["json"])
        self.assertEqual(self.complete("medgrad list --format="), ["text", "json", "markdown"])
        self.assertEqual(self.complete("medgrad estimate vclip --tau "), [])  # a number

    def test_files(self):
        self.rows("data.csv")
        os.mkdir(self.path("deep"))
        self.assertEqual(self.complete("medgrad estimate vclip da"), ["data.csv"])
        # The value of an option is not an argument: what follows is still the file.
        self.assertEqual(self.complete("medgrad estimate vclip --tau 1 --cold da"), ["data.csv"])
        self.assertEqual(self.complete("medgrad estimate --tau=1 vcl"), ["vclip"])
        self.assertEqual(self.complete("medgrad aggregate mean data.csv da"), ["data.csv"])
        self.assertEqual(self.complete("medgrad estimate vclip --start da"), ["data.csv"])
        self.assertEqual(self.complete("medgrad reproduce --out d"), ["deep"])


@unittest.skipIf(shutil.which("zsh") is None, "needs zsh")
class ZshCompletion(CommandTest):
    # zsh's own functions print what they are asked for.
    STUBS = """
        _describe() { print -rl -- "${(P@)4}" }
        _arguments() { print -rl -- "$@" }
    """

    def asked(self, *words):
        script = self.file("_medgrad", self.good("help", "--completion", "zsh"))
        done = subprocess.run(["zsh", "-f", "-c", self.STUBS + 'script=$1; shift; words=("$@"); CURRENT=$#; . $script',
                               "zsh", script, *words], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_commands_options_and_names(self):
        self.assertIn("estimate:", "".join(self.asked("medgrad", "")))
        estimate = self.asked("medgrad", "estimate", "")
        methods = [entry["name"] for entry in json.loads(self.good("list", "methods", "--format", "json"))["methods"]]
        self.assertIn(f":METHOD:({' '.join(methods)})", estimate)
        self.assertIn(":FILE:_files", estimate)
        self.assertTrue(any(line.startswith("--tau[") for line in estimate))
        self.assertTrue(any(line.endswith(":F:(csv json npy)") for line in estimate))


class Progress(CommandTest):
    def shown(self, columns, *arguments):
        """The states of the progress line on a terminal of that many columns."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([MEDGRAD, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=follower) as process:
            os.close(follower)
            text = b""
            while True:
                try:
                    part = os.read(leader, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                text += part
            self.assertEqual(process.wait(timeout=300), 0, text)
        os.close(leader)
        lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[K", "", text.decode()))
        return [line for line in lines if line]

    def test_fits_narrow_terminals(self):
        for columns in (50, 20):
            lines, rows = [], 1000000
            while not lines:  # it has to run long enough to be shown
                rows *= 4
                lines = self.shown(columns, "noise", "sample", "--model", "cauchy", "-n", rows, "--threads", 1,
                                   "--out", self.path("x.npy"))
            self.assertRegex(lines[0], rf"^\d+ of {rows}")
            self.assertLess(max(map(len, lines)), columns)
        lines, seeds = [], 50
        while not lines:
            seeds *= 4
            lines = self.shown(50, "reproduce", "toy", "--no-svg", "--threads", 1, "--seeds", seeds,
                               "--out", self.path(f"out{seeds}"))
        self.assertRegex(lines[0], r"^\[#* *\] \d+ %")
        self.assertLess(max(map(len, lines)), 50)

    def test_training_fits_narrow_terminals(self):
        if run("train", "--help").returncode != 0:
            self.skipTest("this build has no libtorch")
        train = ("train", "synthetic", "--size", "small", "--batch", 8, "--steps", 300, "--evaluation-limit", 2,
                 "--threads", 1)
        lines = self.shown(50, *train, "--out", self.path("run"))[1:]  # the first says what is trained
        self.assertTrue(lines)
        self.assertLess(max(map(len, lines)), 50)
        self.assertTrue(any(re.fullmatch(r"step \d+ of 300, loss [\d.e+-]+, \d+ \w+ left", line) for line in lines), lines)
        wide = self.shown(120, *train, "--out", self.path("wide"))[1:]
        self.assertTrue(any("tokens/s" in line for line in wide), wide)


if __name__ == "__main__":
    unittest.main()
