#!/usr/bin/python3
"""Draws growth.svg from what the benchmarks measured: time and memory against size on logarithmic axes, with the fitted exponent of
each curve.

    ./dev bench growth lengths memory online stable files
    /usr/bin/python3 docs/images/growth.py build/bench.json […]

Several files are taken together; the smaller time of a point counts.
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from table import exponents

STYLES = [("#8c8c8c", ""), ("#0072b2", ""), ("#56b4e9", "6 3"), ("#009e73", "2 3"), ("#e69f00", ""), ("#d55e00", ""), ("#cc79a7", "6 3"),
          ("#7a5c00", "2 3"), ("#444444", "8 3 2 3"), ("#a00000", "8 3 2 3")]
RULES = ["mean", "median", "trimmed mean", "meamed", "krum", "geometric median", "caf", "centered clipping", "nnm+median",
         "nnm+geometric median"]
STEPS = ["momentum", "cclip", "vclip", "median-adam"]
LAWS = ["stable samples", "stable pdf from a table", "stable fit"]
FILES = ["estimate vclip, CSV", "aggregate mean, CSV", "estimate vclip, NPY", "aggregate mean, NPY"]
PANELS = [  # title, label of x, label of y, unit, factor, what an operation is called, names
    ("4.2 million floats in n rows", "rows", "milliseconds", "seconds", 1e3, "{}, 4.2 M floats", RULES),
    ("11 rows of d floats", "d", "milliseconds", "seconds", 1e3, "{} of 11 rows of floats", RULES),
    ("what is allocated, 4.2 million floats in n rows", "rows", "kilobytes", "bytes", 1e-3, "{}", RULES),
    ("a step on d floats", "d", "milliseconds", "seconds", 1e3, "{} reject step, floats", STEPS),
    ("n numbers of a stable law", "n", "milliseconds", "seconds", 1e3, "{}, alpha 1.5, beta 0.5", LAWS),
    ("files, on one thread", "bytes", "milliseconds", "seconds", 1e3, "{}", FILES),
]
PANEL, HEIGHT, GAP, LEFT, TOP, LINE, COLUMNS = 330, 260, 84, 64, 34, 18, 3
FOOT = 46 + LINE * len(RULES)


def read(paths):
    """The rows of all files; of those that measure the same, the one with the least."""
    best = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["results"]:
            for unit in ("seconds", "bytes"):
                if "operation" not in row or unit not in row:
                    continue
                if unit == "bytes" and (row["section"] != "memory" or row["axis"] != "the number of rows"):
                    continue
                key = (row["operation"], unit, row["size"])
                if key not in best or row[unit] < best[key][unit]:
                    best[key] = {"operation": row["operation"], "size": row["size"], unit: row[unit]}
    return best.values()


def power(exponent):
    plain = {0: "1", 1: "10", -1: "0.1"}.get(exponent)
    return plain or f'10<tspan dy="-4" font-size="8">{exponent}</tspan>'.replace(">-", ">−")


def panel(rows, left, top, title, xlabel, ylabel, unit, factor, pattern, names):
    grown = {g["operation"]: g for g in exponents(rows, unit)}
    curves = {name: {int(x): factor * y for x, y in grown[pattern.format(name)][unit].items()}
              for name in names if pattern.format(name) in grown}
    parts = [f'<text x="{left}" y="{top - 14}" font-weight="bold">{title}</text>']
    if not curves:
        return parts
    xs = [x for curve in curves.values() for x in curve]
    ys = [y for curve in curves.values() for y in curve.values()]
    x0, x1 = math.log10(min(xs)), math.log10(max(xs))
    y0, y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x, y):
        return (left + (math.log10(x) - x0) / (x1 - x0) * PANEL, top + (y1 - math.log10(y)) / (y1 - y0) * HEIGHT)

    for e in range(y0, y1 + 1):
        y = place(min(xs), 10**e)[1]
        parts += [f'<line x1="{left}" x2="{left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>',
                  f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{power(e)}</text>']
    by_rows = xlabel == "rows"
    for x in (x for x in ([4, 16, 64, 256, 1000] if by_rows else [10**e for e in range(0, 10)]) if min(xs) <= x <= max(xs)):
        at = place(x, 10**y0)[0]
        label = f"{x}" if by_rows else power(round(math.log10(x)))
        parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{top + HEIGHT}" stroke="#eeeeee"/>',
                  f'<text x="{at:.1f}" y="{top + HEIGHT + 16}" text-anchor="middle">{label}</text>']
    parts += [f'<text x="{left + PANEL / 2}" y="{top + HEIGHT + 32}" text-anchor="middle">{xlabel}</text>',
              f'<text transform="translate({left - 46},{top + HEIGHT / 2}) rotate(-90)" text-anchor="middle">{ylabel}</text>']
    for i, (name, curve) in enumerate(curves.items()):
        colour, dashes = STYLES[names.index(name) if names is RULES else names.index(name) + 1]
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in sorted(curve.items()))
        y = top + HEIGHT + 52 + LINE * i
        exponent = f"{grown[pattern.format(name)]['exponent']:.2f}".replace("-", "−")
        parts += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>',
                  f'<line x1="{left}" x2="{left + 26}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2"{dash}/>',
                  f'<text x="{left + 32}" y="{y}">{name}</text>',
                  f'<text x="{left + 220}" y="{y}" text-anchor="end">{exponent}</text>']
    return parts


def main():
    rows = list(read(sys.argv[1:]))
    parts = []
    for i, one in enumerate(PANELS):
        parts += panel(rows, LEFT + i % COLUMNS * (PANEL + GAP), TOP + i // COLUMNS * (HEIGHT + FOOT + TOP), *one)
    width = LEFT + COLUMNS * (PANEL + GAP)
    height = TOP + HEIGHT + FOOT + TOP + HEIGHT + 60 + LINE * max(len(one[-1]) for one in PANELS[COLUMNS:])
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            'font-size="12" fill="#222222">')
    back = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    pathlib.Path(__file__).with_name("growth.svg").write_text("\n".join([head, back, *parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
