#!/usr/bin/python3
"""Draws growth.svg from what the benchmarks measured: time per entry against the number of rows, time against their length, and memory
against the number of rows.

    ./dev bench growth lengths memory
    /usr/bin/python3 docs/images/growth.py build/bench.json […]

Several files are taken together; the smaller time of a row counts.
"""
import json
import math
import pathlib
import sys

RULES = [  # name, colour, dashes
    ("mean", "#8c8c8c", ""), ("median", "#0072b2", ""), ("trimmed mean", "#56b4e9", "6 3"), ("meamed", "#009e73", "2 3"),
    ("krum", "#e69f00", ""), ("geometric median", "#d55e00", ""), ("caf", "#cc79a7", "6 3"), ("centered clipping", "#7a5c00", "2 3"),
    ("nnm+median", "#444444", "8 3 2 3"), ("nnm+geometric median", "#a00000", "8 3 2 3"),
]
ENTRIES = 1 << 22
PANEL, HEIGHT, GAP, LEFT, TOP, LEGEND = 330, 300, 74, 58, 34, 215


def read(paths):
    """{(section, name): {x: y}}: nanoseconds per entry by n, milliseconds by d, kilobytes by n."""
    curves = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["results"]:
            name, n, d, ms = (row.get(key) for key in ("name", "n", "d", "ms"))
            if row["section"] == "memory" and row["axis"] == "the number of rows":
                curves.setdefault(("memory", row["operation"]), {})[row["size"]] = row["bytes"] / 1000
            if name not in [rule[0] for rule in RULES]:
                continue
            if row["section"] == "growth" and ENTRIES // 2 < n * d <= ENTRIES:
                x, y = n, ms * 1e6 / (n * d)
            elif row["section"] == "lengths":
                x, y = d, ms
            else:
                continue
            curve = curves.setdefault((row["section"], name), {})
            curve[x] = min(y, curve.get(x, math.inf))
    return curves


def power(exponent):
    plain = {0: "1", 1: "10", -1: "0.1"}.get(exponent)
    return plain or f'10<tspan dy="-4" font-size="8">{exponent}</tspan>'.replace(">-", ">−")


def panel(curves, section, left, title, xlabel, ylabel):
    own = {name: curves.get((section, name), {}) for name, _, _ in RULES}
    xs = [x for curve in own.values() for x in curve]
    ys = [y for curve in own.values() for y in curve.values()]
    x0, x1 = math.log10(min(xs)), math.log10(max(xs))
    y0, y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x, y):
        return (left + (math.log10(x) - x0) / (x1 - x0) * PANEL, TOP + (y1 - math.log10(y)) / (y1 - y0) * HEIGHT)

    parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>']
    for e in range(y0, y1 + 1):
        y = place(min(xs), 10**e)[1]
        parts += [f'<line x1="{left}" x2="{left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>',
                  f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{power(e)}</text>']
    by_rows = section != "lengths"
    ticks = [4, 16, 64, 256, 1000] if by_rows else [10**e for e in range(0, 8)]
    for x in (x for x in ticks if min(xs) <= x <= max(xs)):
        at = place(x, 10**y0)[0]
        label = f"{x}" if by_rows else power(round(math.log10(x)))
        parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#eeeeee"/>',
                  f'<text x="{at:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{label}</text>']
    parts.append(f'<text x="{left + PANEL / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">{xlabel}</text>')
    parts.append(f'<text transform="translate({left - 42},{TOP + HEIGHT / 2}) rotate(-90)" text-anchor="middle">{ylabel}</text>')
    for name, colour, dashes in RULES:
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in sorted(own[name].items()))
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>')
    return parts


def main():
    curves = read(sys.argv[1:])
    second = LEFT + PANEL + GAP
    third, width = second + PANEL + GAP, LEFT + 3 * PANEL + 2 * GAP + LEGEND
    parts = panel(curves, "growth", LEFT, "4.2 million floats in n rows", "rows", "nanoseconds per entry")
    parts += panel(curves, "lengths", second, "11 rows of d floats", "d", "milliseconds")
    parts += panel(curves, "memory", third, "what is allocated, 4.2 million floats in n rows", "rows", "kilobytes")
    for i, (name, colour, dashes) in enumerate(RULES):
        x, y = third + PANEL + 18, TOP + 12 + 22 * i
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts += [f'<line x1="{x}" x2="{x + 26}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>',
                  f'<text x="{x + 32}" y="{y + 4}">{name}</text>']
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 46}" font-family="sans-serif" '
            'font-size="12" fill="#222222">')
    back = f'<rect width="{width}" height="{TOP + HEIGHT + 46}" fill="#ffffff"/>'
    pathlib.Path(__file__).with_name("growth.svg").write_text("\n".join([head, back, *parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
