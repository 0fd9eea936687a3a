#!/usr/bin/python3
"""tidy.py COMPILE_COMMANDS FILE…: clang-tidy over the files, as the build compiles them.

Most of clang-tidy's time goes into the standard library's headers, which it reads and checks for every source anew. The
build compiles several sources at a time (medgrad_compiled_together), and so does this. Kernels, which the build compiles
for every SIMD target, are read for one. Prints what is found; fails if anything was.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

# Of GCC's precompiled headers, which clang cannot read, and of the one source that a command is about.
NOT_OURS = re.compile(r" (-Winvalid-pch|-fpch-preprocess|-fno-tree-loop-if-convert|-Wshadow=local|-Wno-subobject-linkage|"
                      r"--param ggc-\S+|-include \S*cmake_pch\.hxx|-o \S+|-c \S+|-M[DTF]\b( \S+\.(o|d))?)(?= |$)")
# Headers are those of the sources, or, where several are put together, the sources themselves.
OURS = "--header-filter=/(include/medgrad|src|apps)/.*"


def flags_of(command):
    """Of a compile command, everything behind the compiler but the source."""
    flags = NOT_OURS.sub("", command)
    return shlex.split(flags[re.search(r"\S*(c\+\+|g\+\+|clang\+\+)\S* ", flags).end():])


def sources_of(unit):
    """What a unit is made of: itself, or the sources that it includes."""
    if "/Unity/" not in unit:
        return {os.path.relpath(unit)}
    text = pathlib.Path(unit).read_text(encoding="utf-8")
    return {os.path.relpath(source) for source in re.findall(r'^#include "(.+)"', text, re.MULTILINE)}


def tidy(unit, flags, together):
    options = [OURS, "--checks=-bugprone-suspicious-include"] if together else []
    done = subprocess.run(["clang-tidy", "-quiet", *options, unit, "--", *flags, "-DHWY_COMPILE_ONLY_STATIC"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    entries = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    asked, work, seen = set(sys.argv[2:]), [], set()
    for entry in entries:
        sources = sources_of(entry["file"]) & asked
        if sources - seen:
            work.append((entry["file"], flags_of(entry["command"]), "/Unity/" in entry["file"]))
            seen |= sources
    missing = sorted(asked - seen)
    if missing:
        print("Not compiled, so not checked:", ", ".join(missing))
    work.sort(key=lambda unit: unit[2], reverse=True)  # what takes longest begins first
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        findings = [text for text in pool.map(lambda unit: tidy(*unit), work) if text]
    print("".join(findings), end="")
    return 1 if missing or findings else 0


if __name__ == "__main__":
    sys.exit(main())
