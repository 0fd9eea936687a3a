"""extend.py SOURCE COPY: a copy of the library with the example of HACKING.md in it.

The example is in blocks: C++ that begins with the name of its file, and changes of lists."""
import pathlib
import re
import shutil
import subprocess
import sys

source, copy = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
copy.mkdir(parents=True)
for part in ("CMakeLists.txt", "VERSION", "LICENSE", "cmake", "include", "src"):
    if (source / part).is_dir():
        shutil.copytree(source / part, copy / part)
    else:
        shutil.copy(source / part, copy)
text = (source / "HACKING.md").read_text(encoding="utf-8")
files = re.findall(r"^```cpp\n// (\S+)\n(.*?)^```$", text, re.M | re.S)
changes = re.findall(r"^```diff\n(.*?)^```$", text, re.M | re.S)
if len(files) != 4 or len(changes) != 2:
    sys.exit(f"HACKING.md has {len(files)} files and {len(changes)} changes in its example; there should be 4 and 2")
for name, content in files:
    if (copy / name).exists():
        sys.exit(f"{name} is there already: the example touches more than the lists")
    (copy / name).write_text(content, encoding="utf-8")
for change in changes:
    if not re.search(r"^\+\+\+ b/include/medgrad/(distance|sample)_list\.h$", change, re.M):
        sys.exit("the example changes a file that is not a list")
    subprocess.run(["git", "apply", "--recount", "--unidiff-zero", "-p1", "-"], cwd=copy, input=change.encode(), check=True)
