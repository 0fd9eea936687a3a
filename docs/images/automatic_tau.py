#!/usr/bin/python3
"""Draws ../results/automatic-tau/map.svg: theta, level and rate of tau = auto against the best fixed tau.

    medgrad run docs/results/automatic-tau/map.json --out build/map
    /usr/bin/python3 docs/images/automatic_tau.py build/map/automatic-tau/results.csv

A cell has the final values of one setting over those of the best fixed tau, each at its best learning rate, in the geometric mean over the
eleven problems, and the largest of the eleven below it. Colours are those of the report: src/lab/report/palette.cc.
"""
import collections
import csv
import math
import pathlib
import re
import statistics
import sys

PALETTE = pathlib.Path(__file__).parents[2] / "src/lab/report/palette.cc"
METHODS = (("vclip", "VClip"), ("cclip", "CClip"))
THETAS, LEVELS, RATES = ("0.01", "0.03", "0.1", "0.3"), ("0.2", "0.5"), ("0.02", "0.1", "0.5")
FALLING = {"vclip": ("5/t", "7/t", "10/t"), "cclip": ("7/t", "10/t", "20/t")}
FALLING_LEVELS = ("0.2", "0.3", "0.5")
DEFAULT = ("0.1", "0.2", "0.1")
CELL, ROW, LEFT, TOP, GAP, BETWEEN = 62, 38, 96, 74, 30, 84
WORST = 4.0  # the ratio whose cell has the full colour


def read(path):
    """{(method, theta, level, rate): {problem: ratio to the best fixed tau}}."""
    runs = collections.defaultdict(list)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["step"] == "1000":
                key = tuple(row[name] for name in ("method", "part", "alpha", "theta", "level", "rate", "tau", "eta"))
                runs[key].append(float(row["value"]) if row["value"] not in ("", "diverged", "failed") else math.inf)
    best = collections.defaultdict(lambda: math.inf)  # over learning rates, and over fixed tau
    for (method, part, alpha, theta, level, rate, _, _), values in runs.items():
        name, how = method.split(" ", 1)
        setting = "fixed" if how == "fixed" else (theta or how.removeprefix("auto "), level, rate)
        key = (name, setting, (part, alpha))
        best[key] = min(best[key], statistics.median(values))
    ratios = collections.defaultdict(dict)
    for (name, setting, problem), value in best.items():
        if setting != "fixed":
            ratios[name, *setting][problem] = value / best[name, "fixed", problem]
    return ratios


def colours(key):
    found = re.search(rf'Look\{{"{key}", "(#\w{{6}})", "(#\w{{6}})"', PALETTE.read_text(encoding="utf-8"))
    return found[1], found[2]


def cell(name, x, y, ratios, framed):
    mean = statistics.geometric_mean(ratios.values())
    share = min(1.0, math.log(mean) / math.log(WORST)) if mean > 1 else 0.0
    yield f'<rect class="{name}" x="{x}" y="{y}" width="{CELL}" height="{ROW}" fill-opacity="{0.04 + 0.56 * share:.2f}"/>'
    if framed:
        yield f'<rect class="frame" x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{ROW - 2}"/>'
    yield f'<text x="{x + CELL / 2}" y="{y + 17}" text-anchor="middle">{mean:.2f}</text>'
    yield f'<text class="small" x="{x + CELL / 2}" y="{y + 31}" text-anchor="middle">{max(ratios.values()):.2f}</text>'


def panel(name, title, left, ratios):
    yield f'<text class="title" x="{left}" y="{TOP - 50}">{title}</text>'
    blocks = ((THETAS, [(level, rate) for level in LEVELS for rate in RATES], "theta"),
              (FALLING[name], [(level, "") for level in FALLING_LEVELS], "theta falls, rate 0.1"))
    x = left
    for thetas, rows, label in blocks:
        yield f'<text x="{x + len(thetas) * CELL / 2}" y="{TOP - 28}" text-anchor="middle">{label}</text>'
        for i, theta in enumerate(thetas):
            yield f'<text x="{x + (i + 0.5) * CELL}" y="{TOP - 8}" text-anchor="middle">{theta}</text>'
            for k, (level, rate) in enumerate(rows):
                found = ratios[name, theta, level, rate]
                assert len(found) == 11, (name, theta, level, rate, len(found))
                yield from cell(name, x + i * CELL, TOP + k * ROW, found, (theta, level, rate) == DEFAULT)
        for k, (level, rate) in enumerate(rows):
            side = f"{level}, {rate}" if rate else level
            yield f'<text x="{x - 8}" y="{TOP + k * ROW + ROW / 2 + 4}" text-anchor="end">{side}</text>'
        yield (f'<text x="{x - 8}" y="{TOP - 8}" text-anchor="end">{"level, rate" if rows[0][1] else "level"}</text>')
        x += len(thetas) * CELL + BETWEEN


def draw(ratios):
    wide = (len(THETAS) + 3) * CELL + BETWEEN
    width, tall = LEFT + wide + 20, TOP + 6 * ROW + GAP
    height = 2 * tall + 24
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
           'aria-label="Final values of tau = auto over those of the best fixed tau, by theta, level and rate">')
    yield ("<style>svg{color:#333;font:13px system-ui,sans-serif}text{fill:currentColor}.small{font-size:11px;fill-opacity:.75}"
           ".title{font-weight:bold}.frame{fill:none;stroke:currentColor;stroke-width:2}"
           + "".join(f".{name}{{fill:{colours(name)[0]}}}" for name, _ in METHODS)
           + "@media(prefers-color-scheme:dark){svg{color:#ddd}"
           + "".join(f".{name}{{fill:{colours(name)[1]}}}" for name, _ in METHODS) + "}</style>")
    for i, (name, title) in enumerate(METHODS):
        yield f'<g transform="translate(0,{i * tall})">'
        yield from panel(name, title, LEFT, ratios)
        yield "</g>"
    for k, line in enumerate(("final value over that of the best fixed tau: geometric mean of eleven problems, the largest below it",
                              f"framed: the default; the colour grows up to a mean of {WORST:g}")):
        yield f'<text class="small" x="22" y="{2 * tall + 16 * k}">{line}</text>'
    yield "</svg>"


def main():
    out = pathlib.Path(__file__).parents[1] / "results/automatic-tau/map.svg"
    out.write_text("\n".join(draw(read(sys.argv[1]))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
