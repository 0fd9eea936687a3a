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


def exponents(results, unit="seconds"):
    """How the time of each operation (or its bytes) grows with its size: the slope of a line through the logarithms, where there are
    three sizes or more."""
    times = {}
    for row in results:
        if "operation" in row and unit in row:
            times.setdefault((row["operation"], row.get("axis", "size")), {})[row["size"]] = row[unit]
    found = []
    for (operation, axis), points in times.items():
        if len(points) < 3:
            continue
        x, y = [math.log(n) for n in points], [math.log(t) for t in points.values()]
        middle = sum(x) / len(x)
        slope = sum((a - middle) * b for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)
        found.append({"operation": operation, "axis": axis, "exponent": slope, "from": min(points), "to": max(points),
                      unit: {str(n): t for n, t in sorted(points.items())}})
    return found


def cell(row, text):
    """Bold where the aim is missed."""
    return f"**{text}**" if row["target"] is not None and row["ratio"] < row["target"] else text


def rows_table(rows):
    lines = ["| what | ours | peer | ratio | aim |", "| --- | --- | --- | --- | --- |"]
    for r in (r for r in rows if not r.get("grows")):  # those are in the tables of growth only
        aim = "" if r["target"] is None else f"{r['target']:.2f}"
        lines.append(f"| {r['what']} | {r['ours']} | {r['peer']} | {cell(r, ratio_text(r))} | {aim} |")
    return lines


def shapes_tables(rows):
    """Rules against their limits, a line for every number of rows and their length: how many times the peer's time a rule takes. Then
    two threads: how many times as fast as one they are. Then other libraries: how many times as long they take."""
    own, more, bare, two, others, missing = {}, {}, {}, {}, {}, []
    for r in rows:
        peer = r["peer"].split("(")[-1].rstrip(")")
        if r["ratio"] is None:
            missing.append(peer)
            continue
        library = peer.split()[0] in ("numpy", "torch", "byzfl")
        where = (r["n"], r["d"], " in the cache" in r["what"])
        share = r["name"] == "Gram matrix" and peer != "bare loop"
        text = f"{100 * r['ratio']:.0f} %" if share else f"{r['ratio']:.1f}" if library else f"{r['ratio']:.2f}" if peer == "one" else f"{1 / r['ratio']:.2f}"
        table = others if library else two if peer == "one" else bare if peer == "bare loop" else more if r["name"].endswith(", one more pass") else own
        column = r["name"].removesuffix(", 2 threads").removesuffix(", one more pass")
        if library or column == "mean" and peer != "one":
            column += f", {peer}"
        if "minima and maxima" not in peer:
            table.setdefault(column, {})[where] = cell(r, text)
    lines = []
    for table, title in ((own, ""), (more, "Beside Gram matrix, median and one more plain pass over the rows:"),
                         (bare, "In multiples of the time of bare loops with the same reads and arithmetic (`bench/bare.cc`):"), (two, "Two threads, in multiples of the speed of one (`plain`: a bare loop that adds up the rows):"),
                         (others, "Other libraries, in multiples of our time:")):
        if table:
            shapes = sorted({where for values in table.values() for where in values}, key=lambda w: (w[2], w[0] * w[1] > 1 << 22, w))
            lines += [title, ""] if title else []
            lines += ["| rows x length | " + " | ".join(table) + " |", "| --- |" + " --- |" * len(table)]
            for n, d, cached in shapes:
                cells = [values.get((n, d, cached), "") for values in table.values()]
                lines.append(f"| {n} x {d}{', in the cache' if cached else ''} | " + " | ".join(cells) + " |")
            lines.append("")
    if missing:
        lines.append(f"Could not be had: {', '.join(sorted(set(missing)))}.")
    return lines


def growth_tables(rows, unit="seconds"):
    """Milliseconds against size; or kilobytes."""
    what, factor = {"seconds": ("Milliseconds", 1e3), "bytes": ("Kilobytes", 1e-3)}[unit]
    grown = exponents(rows, unit)
    lines = []
    for axis in dict.fromkeys(g["axis"] for g in grown):
        own = [g for g in grown if g["axis"] == axis]
        sizes = some(sorted({int(n) for g in own for n in g[unit]}))
        lines += ["", f"{what} against {axis}, and the exponent of its power law:", "",
                  "| operation | " + " | ".join(str(n) if n <= 1000 else f"{n:.0e}".replace("e+0", "e") for n in sizes) + " | exponent |",
                  "| --- |" + " --- |" * (len(sizes) + 1)]
        for g in own:
            cells = [number(factor * g[unit][str(n)]) if str(n) in g[unit] else "" for n in sizes]
            lines.append(f"| {g['operation']} | " + " | ".join(cells) + f" | {g['exponent']:.2f} |")
    return lines


def some(sizes, most=11):
    """So many of them, the first and the last among them: what has room on paper. The exponents are of all."""
    if len(sizes) <= most:
        return sizes
    return [sizes[round(k * (len(sizes) - 1) / (most - 1))] for k in range(most)]


def number(x):
    """Three digits, or all of them before the point."""
    return f"{x:.0f}" if x >= 1000 else f"{x:.3g}"


def section_text(name, data):
    """The block of one section, in Markdown."""
    m, rows = data["machine"], [r for r in data["results"] if r["section"] == name]
    lines = [f"`./dev bench {name}`, {m['date']}: {m['cpu']}, {m['cores']} cores, {m['simd']}, {m['compiler']}.", ""]
    if name == "growth":
        lines += shapes_tables(rows)
    elif name not in ("lengths", "memory"):  # there the growth is all
        lines += rows_table(rows)
    text = "\n".join(lines + growth_tables(rows) + growth_tables(rows, "bytes"))
    return text.replace("\n\n\n", "\n\n").rstrip() + "\n"


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
