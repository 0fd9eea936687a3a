"""What `./dev reproduce` runs does what `medgrad reproduce` does.

Run by CTest as: reproduction_test.py MEDGRAD MEDGRAD-REPRODUCE.
"""
import os
import subprocess
import sys
import unittest

REPRODUCTION = os.path.abspath(sys.argv.pop(2))

from command import CommandTest, content  # noqa: E402  (which takes the other argument)


class Reproduction(CommandTest):
    def test_same_files(self):
        arguments = ("reproduce", "projection", "least-squares-s1", "--seeds", "2", "--no-svg", "--quiet", "--out")
        self.good(*arguments, self.path("command"))
        subprocess.run([REPRODUCTION, *arguments, self.path("alone")], check=True, capture_output=True, timeout=300)
        self.assertTrue(os.path.exists(self.path("alone", "index.html")))
        for experiment in ("projection", "least-squares-s1"):
            files = sorted(os.listdir(self.path("command", experiment)))
            self.assertEqual(files, sorted(os.listdir(self.path("alone", experiment))))
            self.assertIn("summary.json", files)
            for name in files:
                self.assertEqual(content(self.path("command", experiment, name)), content(self.path("alone", experiment, name)), name)

    def test_mistakes(self):
        done = subprocess.run([REPRODUCTION, "reproduce", "tpy"], check=False, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"toy", done.stderr)


if __name__ == "__main__":
    unittest.main()
