"""The command of a build without ICU and libtorch: it does what needs neither, and says what is missing.

Run by CTest as: plain_test.py MEDGRAD.
"""

import subprocess
import unittest

from command import MEDGRAD, CommandTest


class PlainTest(CommandTest):
    def test_it_needs_neither_library(self):
        libraries = subprocess.run(["ldd", MEDGRAD], capture_output=True, check=True, text=True).stdout
        for library in ("libicu", "libtorch", "libc10"):
            self.assertNotIn(library, libraries)

    def test_it_has_every_command(self):
        commands = self.good("help").decode()
        for command in ("reproduce", "estimate", "data", "train"):
            self.assertRegex(commands, rf"(?m)^  {command} ")

    def test_what_needs_them_says_what_is_missing(self):
        self.bad("medgrad data needs ICU.*install.*libicu-dev", "data", "list")
        for command in ("train", "sweep", "gradients"):
            self.bad(f"medgrad {command} needs the program medgrad-torch.*libtorch-dev", command)

    def test_an_experiment_and_its_report(self):
        self.good("reproduce", "moments", "--out", self.path("results"))
        self.good("doctor")


if __name__ == "__main__":
    unittest.main()
