#!/usr/bin/python3
"""Writes what was measured into docs/performance.md: for every section of build/bench.json the text between its markers

    <!-- bench: online -->
    <!-- end of bench -->

becomes the machine, the date, the table and how time grows with size. `./dev bench --write` does it after measuring.
"""
import argparse
import json
import math
import pathlib
import platform
import re
import subprocess
import sys
import time

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs/performance.md"


def machine_of(build):
    """What the figures were measured on."""
    about = json.loads(subprocess.run([str(build / "bin/medgrad"), "doctor", "--format", "json"], capture_output=True, text=True,
                                      check=True).stdout)
    cpu = "unknown processor"
    try:
        cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1].strip()
    except (OSError, TypeError):
        pass
    return {"cpu": cpu, "cores": about.get("cores"), "simd": about.get("simd"), "compiler": about.get("compiler"),
            "version": about.get("version"), "system": platform.platform(), "python": platform.python_version(),
            "date": time.strftime("%Y-%m-%d", time.gmtime())}


def exponents(results):
    """How the time of each operation grows with its size: the slope of a line through the logarithms, where there are three sizes
    or more."""
    times = {}
    for row in results:
        if "operation" in row:
            times.setdefault(row["operation"], {})[row["size"]] = row["seconds"]
    found = []
    for operation, points in times.items():
        if len(points) < 3:
            continue
        x, y = [math.log(n) for n in points], [math.log(t) for t in points.values()]
        middle = sum(x) / len(x)
        slope = sum((a - middle) * b for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)
        found.append({"operation": operation, "exponent": slope, "from": min(points), "to": max(points),
                      "seconds": {str(n): t for n, t in sorted(points.items())}})
    return found


def in_ms(seconds):
    return f"{1e3 * seconds:.3g}"


def section_text(name, data):
    """The block of one section, in Markdown."""
    m = data["machine"]
    lines = [f"`./dev bench {name}`, {m['date']}: {m['cpu']}, {m['cores']} cores, {m['simd']}, {m['compiler']}.", "",
             "| what | ours | peer | ratio | aim |", "| --- | --- | --- | --- | --- |"]
    for r in data["results"]:
        if r["section"] == name:
            aim = "" if r["target"] is None else f"{r['target']:.2f}"
            missed = r["target"] is not None and r["ratio"] < r["target"]
            lines.append(f"| {r['what']} | {r['ours']} | {r['peer']} | {f'**{ratio_text(r)}**' if missed else ratio_text(r)} | {aim} |")
    grown = exponents([r for r in data["results"] if r["section"] == name])
    if grown:
        sizes = sorted({int(n) for g in grown for n in g["seconds"]})
        lines += ["", "Milliseconds against size, and the exponent of its power law:", "",
                  "| operation | " + " | ".join(f"{n:.0e}".replace("e+0", "e") for n in sizes) + " | exponent |",
                  "| --- |" + " --- |" * (len(sizes) + 1)]
        for g in grown:
            cells = [in_ms(g["seconds"][str(n)]) if str(n) in g["seconds"] else "" for n in sizes]
            lines.append(f"| {g['operation']} | " + " | ".join(cells) + f" | {g['exponent']:.2f} |")
    return "\n".join(lines) + "\n"


def ratio_text(row):
    return "" if row["ratio"] is None else f"{row['ratio']:.2f}"


def write(data, document=DOCUMENT):
    """Returns the names of the sections that were written, and of those that have no place in the document."""
    text = document.read_text(encoding="utf-8")
    written, homeless = [], []
    for name in dict.fromkeys(r["section"] for r in data["results"]):
        begin, end = f"<!-- bench: {name} -->\n", "<!-- end of bench -->\n"
        start = text.find(begin)
        stop = text.find(end, start)
        if start < 0 or stop < 0:
            homeless.append(name)
            continue
        text = text[:start + len(begin)] + section_text(name, data) + text[stop:]
        written.append(name)
    document.write_text(text, encoding="utf-8")
    return written, homeless


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--document", type=pathlib.Path, default=DOCUMENT)
    options = parser.parse_args()
    written, homeless = write(json.loads((options.build / "bench.json").read_text(encoding="utf-8")), options.document)
    print(f"Wrote {', '.join(written) or 'nothing'} into {options.document}.")
    if homeless:
        print(f"There is no place for {', '.join(homeless)}.")
    return 1 if homeless else 0


if __name__ == "__main__":
    sys.exit(main())
