"""Figures for a light and a dark page: the palette of the report, and twins of SVG files in its dark colours."""
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INK, SURFACE = ("#000000", "#e4eaf0"), ("#ffffff", "#161c23")     # of light and of dark figures
GREYS = {(85, 85, 85): "#9aa8b5", (221, 221, 221): "#2a343f"}      # labels and grid of gnuplot's figures
MOST_COLOURS = 100                                                 # of lines and their shades
TOLERANCE = 3.0                                                    # of 255: what rounding does to a mixed colour


@functools.cache
def looks():
    """Key of a method -> (light colour, dark colour, is the line solid), from the one place that has them."""
    text = (ROOT / "src/lab/report/palette.cc").read_text(encoding="utf-8")
    found = re.findall(r'Look\{"([^"]+)", "(#\w{6})", "(#\w{6})"(?:, Dash::(\w+))?\}', text)
    return {key: (light, dark, dash or "solid") for key, light, dark, dash in found}


def channels(colour):
    return tuple(int(colour[i:i + 2], 16) for i in (1, 3, 5))


def mixed(first, second, share):
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(channels(first), channels(second)))


@functools.cache
def dark_colour(rgb):
    """The dark twin of a colour that a method's colour was mixed from, towards the surface or towards the ink; or None."""
    if rgb in GREYS:
        return GREYS[rgb]
    best = (TOLERANCE, None)
    for light, dark, _ in looks().values():
        base = channels(light)
        for ends in (SURFACE, INK):
            way = [e - b for e, b in zip(channels(ends[0]), base)]
            length = sum(w * w for w in way)
            share = sum((c - b) * w for c, b, w in zip(rgb, base, way)) / length if length else 0
            if -0.01 <= share <= 0.9:
                away = max(abs(b + share * w - c) for b, w, c in zip(base, way, rgb))
                best = min(best, (away, mixed(dark, ends[1], max(share, 0))), key=lambda pair: pair[0])
    return best[1]


def themed(svg):
    """An SVG's text -> its text for light and for dark pages."""
    media = re.search(r"@media\s*\(prefers-color-scheme:\s*dark\)\s*\{((?:[^{}]*\{[^{}]*\})*)\s*\}", svg)
    if media:  # it has both: one for each, so that they follow the page's switch
        return svg.replace(media[0], ""), svg.replace(media[0], media[1])

    colours = set(re.findall(r"rgb\(([\d, ]+)\)", svg))
    is_heat_map = len(colours) > MOST_COLOURS  # whose cells keep their colours, and what stands on them

    def repaint(match):
        rgb = tuple(int(part) for part in match[1].split(","))
        return (GREYS.get(rgb) if is_heat_map else dark_colour(rgb)) or match[0]

    dark = re.sub(r"(?i)#ffffff\b", SURFACE[1], svg)
    dark = re.sub(r"""(?<=['"])black(?=['"])""", INK[1], dark)
    return svg, re.sub(r"rgb\(([\d, ]+)\)", repaint, dark)
