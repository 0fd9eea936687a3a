#!/usr/bin/python3
"""console.py README COMMAND-FOLDER: the ```console blocks show what the commands really print."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

readme, folder = pathlib.Path(sys.argv[1]), sys.argv[2]
environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
blocks = re.findall(r"^```console\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)
assert blocks, f"{readme} has no console block"
failures = 0
with tempfile.TemporaryDirectory() as scratch:
    for block in blocks:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.stdout != expected:
                failures += 1
                print(f"$ {command}\nshown:\n{expected}printed:\n{done.stdout}")
sys.exit(failures != 0)
