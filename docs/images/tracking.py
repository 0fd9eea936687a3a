#!/usr/bin/python3
"""Draws tracking.svg, the picture of the README, from what the medgrad command prints.

    /usr/bin/python3 docs/images/tracking.py build/bin/medgrad

A point goes once around a circle in 1500 steps; each step shows it with Student-t noise of 1.1 degrees of
freedom, which has no variance. Three estimators see the same stream, one vector per step. Colours are those of the
report: src/lab/report/palette.cc.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np

STEPS, RADIUS = 1500, 3.0
METHODS = [  # name, options, label
    ("momentum", ["--tau", "0.06"], "momentum (mean)"),
    ("vclip", ["--tau", "0.12"], "VClip (geometric median)"),
    ("cclip", ["--tau", "0.08"], "CClip (componentwise median)"),
]
PALETTE = pathlib.Path(__file__).parents[2] / "src/lab/report/palette.cc"
PANEL, GAP, TOP, BOTTOM, LEFT = 300, 70, 44, 36, 16


def stream():
    angle = np.linspace(0, 2 * np.pi, STEPS)
    target = RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    return target, target + np.random.default_rng(7).standard_t(1.1, (STEPS, 2))


def track(command, method, options, g):
    """The estimate after every step."""
    text = "\n".join(",".join(repr(float(x)) for x in row) for row in g)
    done = subprocess.run([command, "estimate", method, *options, "--every", "1", "-"], input=text, text=True,
                          capture_output=True, check=True)
    m = np.array([[float(x) for x in line.split(",")] for line in done.stdout.splitlines()])
    assert m.shape == g.shape, f"{method}: expected {g.shape}, got {m.shape}"
    return m


def colours():
    """Of each method, on a light page and on a dark one."""
    lines = re.findall(r'Look\{"([^"]+)", "(#\w{6})", "(#\w{6})"', PALETTE.read_text(encoding="utf-8"))
    known = {key: (light, dark) for key, light, dark in lines}
    return [(name, *known[name]) for name, _, _ in METHODS]


def polyline(points, look, width, extra=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" {look} stroke-width="{width}" {extra}/>'


def plane(target, g, paths, half=6.0):
    """The paths in the plane, and the part of the noise that fits."""
    def place(p):
        return np.column_stack([LEFT + (p[:, 0] + half) * PANEL / (2 * half),
                                TOP + (half - p[:, 1]) * PANEL / (2 * half)])
    inside = g[(np.abs(g) < half).all(axis=1)]
    yield '<g clip-path="url(#plane)">'
    yield "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.3"/>' for x, y in place(inside[::2])).join(
        ['<g class="noise">', "</g>"])
    for name, m in paths:
        yield polyline(place(m[::3]), f'class="{name}"', 1.5, 'stroke-linejoin="round" stroke-opacity=".8"')
    yield polyline(place(target[::10]), 'stroke="currentColor"', 1.4, 'stroke-dasharray="4 3"')
    yield "</g>"
    yield f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{PANEL}" height="{PANEL}"/>'
    outside = 100 * (1 - len(inside) / len(g))
    yield f'<text x="{LEFT}" y="{TOP + PANEL + 18}">dashed: the truth; {outside:.0f} % of the dots lie outside</text>'


def errors(target, paths, low=-2.0, high=3.0):
    """The distance from the truth, step by step, in powers of ten."""
    x0, width = LEFT + PANEL + GAP, PANEL + 60
    for power in range(int(low), int(high) + 1):
        y = TOP + (high - power) * PANEL / (high - low)
        yield f'<line class="grid" x1="{x0}" x2="{x0 + width}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield (f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">10<tspan dy="-5" font-size="9">{power}</tspan>'
               "</text>")
    yield '<g clip-path="url(#errors)">'
    for name, m in paths:
        error = np.log10(np.maximum(np.linalg.norm(m - target, axis=1), 1e-9))
        x = x0 + np.arange(STEPS) * width / (STEPS - 1)
        y = TOP + (high - np.maximum(error, low)) * PANEL / (high - low)
        yield polyline(np.column_stack([x, y])[::2], f'class="{name}"', 1.2)
    yield "</g>"
    yield f'<rect class="frame" x="{x0}" y="{TOP}" width="{width}" height="{PANEL}"/>'
    yield f'<text x="{x0}" y="{TOP + PANEL + 18}">distance from the truth, over {STEPS} steps</text>'


def draw(target, g, paths):
    width, height = LEFT + PANEL + GAP + PANEL + 60 + LEFT, TOP + PANEL + BOTTOM
    x0 = LEFT + PANEL + GAP
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img" aria-label="Momentum, VClip and CClip following a moving point through heavy-tailed noise">')
    yield ("<style>svg{color:#333;font:13px system-ui,sans-serif}text{fill:currentColor}"
           ".frame{fill:none;stroke:currentColor;stroke-opacity:.35}.grid{stroke:currentColor;stroke-opacity:.15}"
           ".noise{fill:currentColor;fill-opacity:.35}"
           + "".join(f".{name}{{stroke:{light}}}" for name, light, _ in colours())
           + "@media(prefers-color-scheme:dark){svg{color:#ddd}"
           + "".join(f".{name}{{stroke:{dark}}}" for name, _, dark in colours()) + "}</style>")
    yield (f'<clipPath id="plane"><rect x="{LEFT}" y="{TOP}" width="{PANEL}" height="{PANEL}"/></clipPath>'
           f'<clipPath id="errors"><rect x="{x0}" y="{TOP}" width="{PANEL + 60}" height="{PANEL}"/></clipPath>')
    for x, (name, _, label) in zip((LEFT, LEFT + 190, LEFT + 430), METHODS):
        yield f'<line x1="{x}" x2="{x + 22}" y1="20" y2="20" class="{name}" stroke-width="3"/>'
        yield f'<text x="{x + 28}" y="24">{label}</text>'
    yield from plane(target, g, paths)
    yield from errors(target, paths)
    yield "</svg>"


def main():
    target, g = stream()
    paths = [(name, track(sys.argv[1], name, options, g)) for name, options, _ in METHODS]
    out = pathlib.Path(__file__).with_name("tracking.svg")
    out.write_text("\n".join(draw(target, g, paths)) + "\n")


if __name__ == "__main__":
    main()
