"""tools/layers.py sees cycles, forbidden includes and a diagram that is not current.

Run by CTest as: layers_test.py LAYERS.PY.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1))
PLACE = "# Layers\n<!-- layers: drawn by tools/layers.py -->\n<!-- end of layers -->\nThe end.\n"


class LayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.file("HACKING.md", PLACE)
        self.file("tools/layers.py", "")
        shutil.copy(SCRIPT, self.root / "tools/layers.py")
        self.file("include/medgrad/a.h", "#include <vector>\n")
        self.file("src/kernels/k.h", "")
        self.file("src/core/c.cc", '#include "kernels/k.h"\n#include "medgrad/a.h"\n')
        self.file("src/core/c.h", '#include "medgrad/a.h"\n')
        self.file("src/lab/l.cc", '#include "core/c.h"\n#include "kernels/k.h"\n')

    def file(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_script(self, *arguments):
        subprocess.run("git init -q . && git add -A", shell=True, cwd=self.root, check=True)
        return subprocess.run([sys.executable, "tools/layers.py", *arguments], cwd=self.root,
                              capture_output=True, text=True, check=False)

    def complains(self, *parts):
        result = self.run_script()
        self.assertNotEqual(result.returncode, 0)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_writes_the_diagram_and_finds_it_current(self):
        self.assertEqual(self.run_script("--write").returncode, 0)
        text = (self.root / "HACKING.md").read_text()
        self.assertTrue(text.startswith("# Layers\n") and text.endswith("The end.\n"))
        self.assertIn("1  src/core         → include/medgrad, src/kernels\n", text)
        self.assertIn("2  src/lab          → src/core\n", text)  # the kernels come with core
        self.assertEqual(self.run_script().returncode, 0)

    def test_a_new_edge_is_a_difference(self):
        self.run_script("--write")
        self.file("src/kernels/k.h", '#include "medgrad/a.h"\n')
        self.complains("-0  src/kernels", "+1  src/kernels", "tools/layers.py --write")

    def test_a_cycle(self):
        self.file("src/kernels/k.h", '#include "core/c.h"\n')
        self.complains("src/core → src/kernels → src/core")

    def test_a_public_header_keeps_to_public_ones(self):
        self.file("include/medgrad/a.h", '#include "kernels/k.h"\n')
        self.complains("public headers in include/medgrad include src/kernels")

    def test_what_comes_from_outside_has_its_folders(self):
        self.file("src/core/c.h", "#include <unicode/uchar.h>\n")
        self.file("include/medgrad/b.h", "#include <nlohmann/json.hpp>\n")
        self.complains("src/core/c.h includes unicode/uchar.h", "include/medgrad/b.h includes nlohmann/json.hpp")

    def test_a_file_that_is_not_there(self):
        self.file("src/core/d.cc", '#include "core/gone.h"\n')
        self.complains('src/core/d.cc includes "core/gone.h", which is no file of ours')

    def test_nothing_includes_the_tests(self):
        self.file("tests/core/helper.h", "")
        self.file("src/core/d.cc", '#include "core/helper.h"\n')
        self.complains("src/core includes tests/core")


if __name__ == "__main__":
    unittest.main()
