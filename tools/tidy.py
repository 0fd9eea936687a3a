#!/usr/bin/python3
"""tidy.py COMPILE_COMMANDS FOLDER FILE…: clang-tidy over the files, many of them at a time.

Most of clang-tidy's time goes into the standard library's headers, which it reads and checks for every source anew. So
sources that are compiled alike and whose names do not clash are put together in FOLDER, as one source that includes
them. Where that does not compile after all, each is looked at by itself. Prints what is found; fails if anything was.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

LARGEST = 12  # sources in one; more would leave a core without work at the end
# Of GCC's precompiled headers, which clang cannot read, and of the one source that a command is about.
NOT_OURS = re.compile(r" (-Winvalid-pch|-fpch-preprocess|-include \S*cmake_pch\.hxx|-o \S+|-c \S+|-M[DTF]\b( \S+\.(o|d))?)(?= |$)")
SINGLE = "hwy/foreach_target.h"  # compiles itself several times over


def flags_of(command):
    """Of a compile command, everything behind the compiler that any source of its target has."""
    flags = NOT_OURS.sub("", command)
    return flags[re.search(r"\S*(c\+\+|g\+\+|clang\+\+)\S* ", flags).end():]


def local_names(text):
    """What a source defines for itself alone: {name: line}."""
    names, inside = {}, False
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif inside and re.match(r"[A-Za-z_\[]", line):
            found = (re.match(r"(?:struct|class|enum class|enum|union) (\w+)", line) or
                     re.search(r"(\w+)\s*(?:<[^;]*>)?\s*[(={;\[]", re.sub(r"^(template|requires).*>\s*", "", line)))
            for name in re.findall(r"\b(k[A-Z]\w*)\s*[\[={]", line) + ([found.group(1)] if found else []):
                names[name] = line
    return names


def clash(a, b):
    """Two sources cannot be one where a name means two things; the same alias twice is fine."""
    return any(name in b and not (line == b[name] and line.startswith(("using ", "namespace ")))
               for name, line in a.items())


def batches(sources, commands):
    """[[source, …], …]: of one folder and one set of flags, without a clash."""
    done, open_ones = [], {}
    for source in sources:
        text = pathlib.Path(source).read_text(encoding="utf-8")
        if SINGLE in text:
            done.append([source])
            continue
        names, key = local_names(text), (os.path.dirname(source), commands[source])
        for batch, taken in open_ones.setdefault(key, []):
            if len(batch) < LARGEST and not clash(names, taken):
                batch.append(source)
                taken.update(names)
                break
        else:
            open_ones[key].append(([source], dict(names)))
    return done + [batch for group in open_ones.values() for batch, _ in group]


def tidy(source, flags, *options):
    done = subprocess.run(["clang-tidy", "-quiet", *options, source, "--", *flags], capture_output=True, text=True)
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


def check(number, batch, commands, folder):
    flags = shlex.split(commands[batch[0]])
    if len(batch) > 1:
        together = folder / f"together-{number}.cc"
        together.write_text("".join(f'#include "{pathlib.Path(source).resolve()}"\n' for source in batch))
        code, output = tidy(str(together), [*flags, "-Wno-shadow"], "--header-filter=/(include/medgrad|src|apps)/.*",
                            "--checks=-bugprone-suspicious-include")
        if code == 0:
            return 0, ""
        if "clang-diagnostic-error" not in output:
            return code, output
    results = [tidy(source, flags) for source in batch]
    return max(code for code, _ in results), "".join(output for code, output in results if code != 0)


def main():
    database, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    entries = {os.path.relpath(e["file"]): e for e in json.loads(pathlib.Path(database).read_text(encoding="utf-8"))}
    missing = [source for source in sys.argv[3:] if source not in entries]
    if missing:
        print("Not compiled, so not checked:", ", ".join(missing))
    commands = {source: flags_of(entries[source]["command"]) for source in sys.argv[3:] if source in entries}
    work = sorted(batches(list(commands), commands), key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda item: check(*item, commands, folder), enumerate(work)))
    for code, output in results:
        if code != 0:
            print(output)
    return 1 if missing or any(code != 0 for code, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
