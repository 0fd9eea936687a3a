#!/usr/bin/python3
"""layers.py [--write]: the layers of the sources, read from their #include lines.

Every folder of include/, src/ and apps/ with C++ in it is a node; it points to the folders it includes. There
must be no cycle, and the diagram in HACKING.md must show what is: otherwise this prints the difference and
fails. With --write it puts the diagram there.
"""

import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "HACKING.md"
BEGIN, END = "<!-- layers: drawn by tools/layers.py -->\n", "<!-- end of layers -->\n"
DRAWN = ("include", "src", "apps")  # the rest (tests, benchmarks, fuzzers) stands above and is included by nobody
SEARCHED = ("include", "src", "apps/medgrad", "tests")
# What comes from outside and belongs in a few folders only.
OUTSIDE = {
    r"hwy/": ("src/kernels", "src/noise", "tests/kernels", "tests/noise", "bench"),
    r"unicode/": ("src/text",),
    r"zlib\.h": ("src/io",),
    r"(torch|ATen|c10)/": ("src/torch", "src/language", "apps/medgrad/torch", "include/medgrad/torch",
                           "tests/torch", "tests/language", "tests/processes", "bench", "examples/torch"),
    r"gloo/": ("src/torch/dist",),
    r"mpi\.h": ("src/mpi",),
    r"CLI/": ("apps/medgrad",),
    r"gtest/": ("tests",),
    r"nlohmann/": ("src", "apps", "tests"),  # not in a public header
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def tracked():
    listing = subprocess.run(["git", "ls-files", "-z", "*.cc", "*.h", "*.h.in", "*.cc.in"], cwd=ROOT,
                             capture_output=True, check=True).stdout.decode()
    return sorted(name for name in listing.split("\0") if name and (ROOT / name).exists())


def resolve(name, source, files):
    """The file of ours that `source` means, or None."""
    folder = source.rpartition("/")[0]
    for place in (folder, *SEARCHED):
        for candidate in (f"{place}/{name}", f"{place}/{name}.in"):
            if candidate in files:
                return candidate
    # What is generated from src/*/x.h.in is found as medgrad/x.h.
    made = [file for file in files if file.endswith("/" + name.rpartition("/")[2] + ".in")]
    return made[0] if made else None


def read_graph():
    files, graph, complaints = set(tracked()), {}, []
    for source in sorted(files):
        folder = source.rpartition("/")[0]
        graph.setdefault(folder, set())
        for quote, name in INCLUDE.findall((ROOT / source).read_text()):
            for pattern, places in OUTSIDE.items():
                outside = re.match(pattern, name) and (quote == "<" or resolve(name, source, files) is None)
                if outside and not any((folder + "/").startswith(place + "/") for place in places):
                    complaints.append(f"{source} includes {name}, which is for {', '.join(places)} only.")
            if quote == "<":
                continue
            target = resolve(name, source, files)
            if target is not None and target.rpartition("/")[0] != folder:
                graph[folder].add(target.rpartition("/")[0])
            elif target is None and not name.startswith("hwy/"):
                complaints.append(f"{source} includes \"{name}\", which is no file of ours.")
    return graph, complaints


def find_cycle(graph):
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for target in sorted(graph.get(node, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def below(graph, node):
    """Every folder that `node` reaches."""
    reached, waiting = set(), list(graph[node])
    while waiting:
        target = waiting.pop()
        if target not in reached:
            reached.add(target)
            waiting.extend(graph[target])
    return reached


def diagram(graph):
    """One line per folder, the highest layer first: its height, and what it includes that nothing else it includes brings along."""
    height = {}

    def height_of(node):
        if node not in height:
            height[node] = 1 + max((height_of(target) for target in graph[node]), default=-1)
        return height[node]

    lines, width = [], max(map(len, graph))
    for node in sorted(graph, key=lambda node: (-height_of(node), node)):
        direct = [target for target in sorted(graph[node], key=lambda target: (-height_of(target), target))
                  if not any(target in below(graph, other) for other in graph[node])]
        lines.append(f"{height_of(node)}  {node:{width}}  {'→ ' + ', '.join(direct) if direct else ''}".rstrip() + "\n")
    return ["```\n", *lines, "```\n"]


def main():
    graph, complaints = read_graph()
    drawn = {node: {target for target in targets if target.startswith(DRAWN)}
             for node, targets in graph.items() if node.split("/")[0] in DRAWN}
    for node, targets in graph.items():
        for target in targets:
            if node.split("/")[0] in DRAWN and target.split("/")[0] not in DRAWN:
                complaints.append(f"{node} includes {target}, which nothing in {', '.join(DRAWN)} may.")
            if node.startswith("include") and not target.startswith("include"):
                complaints.append(f"The public headers in {node} include {target}, which is internal.")
    cycle = find_cycle(graph)
    if cycle:
        complaints.append(f"The folders include each other in a circle: {' → '.join(cycle)}.")
    if complaints:
        sys.exit("\n".join(complaints))

    text = DOCUMENT.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{DOCUMENT.name} has no place for the diagram: it needs the lines\n{BEGIN}{END}")
    head, rest = text.split(BEGIN)
    shown, tail = rest.split(END)
    now = diagram(drawn)
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(head + BEGIN + "".join(now) + END + tail)
        return
    difference = list(difflib.unified_diff(shown.splitlines(keepends=True), now, "shown in HACKING.md", "in the sources"))
    if difference:
        sys.exit("".join(difference) + "Run tools/layers.py --write, look at what changed, and commit HACKING.md.")


if __name__ == "__main__":
    main()
