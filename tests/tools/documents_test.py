"""What the documents show is true: console blocks print what they show, other blocks of commands run, settings are read.

Run by CTest as: documents_test.py MEDGRAD. Blocks of Python are run by tests/python/test_docs.py; those of C++ are compiled: the README's by
tests/install, those of HACKING.md by tests/install/extend.py, those for libtorch as a part of torch_tests (libtorch_blocks.py).
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MEDGRAD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "HACKING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
LANGUAGES = {"console", "sh", "jsonc", "python", "cpp", "c++", "diff", "text", ""}

# What a reader has at hand.
FILES = """printf '1,2\\n1.1,2.2\\n0.9,1.9\\n1,2.1\\n1e9,-1e9\\n' > gradients.csv
for name in gradients a b c; do medgrad noise sample --alpha 1.5 -n 4 -d 3 --seed 1 --out $name.npy; done
medgrad noise sample --alpha 2 -n 10 -d 3 --out honest.csv"""

# Minutes become moments: the same options on a smaller matter. A language task stops where it misses its data, which is after
# everything on the command line was read; synthetic ones have none to miss, so they are called by another name.
SMALLER = ((r"^medgrad reproduce( +#.*)?$", "medgrad reproduce toy --seeds 2"),
           (r"^(medgrad reproduce (?:byzantine|scale|corrupted)[^#]*)", r"\1 --print "),
           (r"^medgrad launch -n (\d+) -- train (.*?)( *#.*)?$", r"medgrad train \2 --workers \1"),
           (r"^(medgrad (?:train|sweep|gradients)) (?:synthetic|logistic)\b", r"\1 ptb"))
MISSING_DATA = r"the data set \S+ was not found|there are no data sets|simple-examples.tgz does not exist"
# How what can be run begins, of a shell or of Python.
RUNNABLE = r"medgrad |\./dev |cmake |pip |\S+/\S+\.py |import |from \S+ import |\w+ = \w+[.(]"
# Where a variable of CMake that users may set is declared.
DECLARED = r"^\s*(?:option|medgrad_part|find_file|set)\((MEDGRAD_[A-Z_]+)"


def blocks(path, language):
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)


def named(path):
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def bash(self, command, folder):
        environment = {**os.environ, "PATH": f"{MEDGRAD.parent}{os.pathsep}{os.environ['PATH']}", "MEDGRAD_DATA": str(self.folder / "none"),
                       "XDG_DATA_HOME": str(self.folder / "none"), "OMP_NUM_THREADS": "1"}
        return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_every_block_has_a_language_that_is_tested(self):
        for path in DOCUMENTS:
            fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
            for language, text in fences:
                self.assertIn(language, LANGUAGES, named(path))
                if language in ("", "text"):
                    self.assertNotRegex(text, rf"(?m)^(\$ )?({RUNNABLE})", f"{named(path)}: commands in a block without a language")

    def test_settings_of_the_build_exist(self):
        there, found = {"Torch_DIR", "BUILD_SHARED_LIBS"}, set()  # these two are not ours
        for path in [ROOT / "CMakeLists.txt", *ROOT.glob("*/CMakeLists.txt"), *ROOT.glob("cmake/*.cmake")]:
            there.update(re.findall(DECLARED, path.read_text(encoding="utf-8"), re.M))
        for path in DOCUMENTS:
            found.update(re.findall(r"-D ?(\w+)=", path.read_text(encoding="utf-8")))
        self.assertGreater(len(found), 5)
        self.assertLessEqual(found, there)

    def test_nothing_is_left_to_fill_in(self):
        for path in DOCUMENTS:
            self.assertNotRegex(path.read_text(encoding="utf-8"), r"@@\w+@@", named(path))

    def test_console_blocks_show_what_is_printed(self):
        found = 0
        for path in DOCUMENTS:
            folder = self.folder / named(path).replace("/", "-")
            folder.mkdir()
            for block in blocks(path, "console"):
                for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
                    found += 1
                    with self.subTest(document=named(path), command=command):
                        self.assertEqual(self.bash(command, folder).stdout, expected)
        self.assertGreater(found, 15)

    def check_commands(self, path):
        """What is wrong with the commands of a document."""
        wrong, folder = [], self.folder / ("in-" + named(path).replace("/", "-"))
        folder.mkdir()
        commands = [line for block in blocks(path, "sh") for line in block.splitlines() if re.match(r"medgrad |\./dev |\S+/\S+\.py ", line)]
        if any(line.startswith("medgrad ") for line in commands):
            done = self.bash(FILES, folder)
            assert done.returncode == 0, done.stdout
        for command in commands:
            if command.startswith("./dev "):
                if not re.search(rf"^cmd_{command.split()[1]}\(\)", (ROOT / "dev").read_text(encoding="utf-8"), re.M):
                    wrong.append(f"{command}: no such command")
                continue
            if not command.startswith("medgrad "):  # a script of ours, which would take minutes
                if not (ROOT / command.split()[0]).is_file():
                    wrong.append(f"{command}: no such script")
                continue
            smaller = command
            for pattern, replacement in SMALLER:
                smaller = re.sub(pattern, replacement, smaller)
            done = self.bash(smaller, folder)
            without_torch = "was built without" in done.stdout
            if done.returncode != 0 and not without_torch and not re.search(MISSING_DATA, done.stdout):
                wrong.append(f"{command}: {done.stdout}")
        return [f"{named(path)}: {one}" for one in wrong]

    def test_commands_run(self):
        for path in DOCUMENTS:
            for block in blocks(path, "sh"):
                done = self.bash(f"bash -n <<'END_OF_BLOCK'\n{block}\nEND_OF_BLOCK", self.folder)
                self.assertEqual((done.returncode, done.stdout), (0, ""), named(path))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertEqual([fault for faults in pool.map(self.check_commands, DOCUMENTS) for fault in faults], [])

    def test_a_wrong_command_is_found(self):
        for wrong in ("medgrad aggregate medin gradients.csv", "medgrad train synthetic --methd vclip", "medgrad reproduce toi", "./dev bulid", "bench/rum.py all"):
            with self.subTest(wrong):
                path = self.folder / f"wrong-{wrong.split()[-1]}.md"
                path.write_text(f"```sh\n{wrong}\n```\n", encoding="utf-8")
                self.assertEqual(len(self.check_commands(path)), 1)

    def test_settings_are_read(self):
        found = 0
        for path in DOCUMENTS:
            for block in blocks(path, "jsonc"):
                found += 1
                (self.folder / "mine.json").write_text(block, encoding="utf-8")
                done = self.bash("medgrad run mine.json --seeds 2 --quiet --no-svg", self.folder)
                self.assertEqual(done.returncode, 0, f"{named(path)}: {done.stdout}")
        self.assertGreater(found, 0)


if __name__ == "__main__":
    unittest.main()
