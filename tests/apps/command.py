"""What the tests of the medgrad command share. Their first argument is the command."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

MEDGRAD = os.path.abspath(sys.argv.pop(1))
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [-1.0, 0.25, 1e-3], [1e300, 0.1, -7.0]]


def run(*arguments, stdin=b"", **options):
    return subprocess.run([MEDGRAD, *map(str, arguments)], input=stdin, capture_output=True,
                          timeout=300, check=False, **options)


def content(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def table(text):
    return [[float(x) for x in line.split(",")] for line in text.decode().splitlines()]


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def file(self, name, what):
        """Writes a file of text, bytes, or an array."""
        path = self.path(name)
        if isinstance(what, np.ndarray):
            np.save(path, what)
        else:
            with open(path, "wb") as out:
                out.write(what.encode() if isinstance(what, str) else what)
        return path

    def rows(self, name="data.csv"):
        return self.file(name, "".join(",".join(map(repr, row)) + "\n" for row in ROWS))

    def good(self, *arguments, stdin=b""):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def bad(self, sentence, *arguments, stdin=b""):
        """One sentence that matches, exit code 2, nothing printed, no file left behind."""
        before = sorted(os.listdir(self.folder.name))
        result = run(*arguments, stdin=stdin, cwd=self.folder.name)
        error = result.stderr.decode(errors="replace")
        with self.subTest(arguments=arguments, error=error):
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertTrue(re.fullmatch(r"medgrad: [^\n]+[.?]\n", error))
            self.assertRegex(error, sentence)
            self.assertEqual(sorted(os.listdir(self.folder.name)), before)
