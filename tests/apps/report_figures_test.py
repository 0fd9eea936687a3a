"""What figures of the report show and how: statistics, colours, dashes, shades, legends; in a browser.

Run by CTest as: report_figures_test.py MEDGRAD. Where Chromium or its driver are missing it is skipped (exit code 77).
"""

import json
import os
import re

import report_browser
import report_fixture
from report_browser import InBrowser


class Figures(InBrowser):
    def test_legends_list_what_their_figure_has(self):
        self.open("out", "index.html")
        figures = self.js("""return medgradReport.experiments.flatMap((experiment) => experiment.figures.map((figure) => [
            [...figure.node.querySelectorAll('.chips:not(.runs) .chip')].map((chip) => chip.dataset.id).sort(),
            [...new Set(figure.panels.flatMap((panel) => panel.series.map((series) => series.key)))].sort()]))""")
        self.assertEqual(len(figures), 5)
        for listed, drawn in figures:
            self.assertEqual(listed, drawn)

    def only(self, *keys):
        """One experiment: a figure with a panel for each key, and one with all of them."""
        def make(_):
            panels = [{"id": key, "title": key, "x": {}, "y": {}, "series": [report_fixture.curve(key, key, [1, 2], [1.0, 2.0])]}
                      for key in keys]
            return {"title": "", "description": "", "claims": [], "rows": [], "figures": [
                {"id": "each", "columns": len(keys), "panels": panels},
                {"id": "all", "panels": [{"id": "all", "x": {}, "y": {}, "series": [panel["series"][0] for panel in panels]}]}]}
        report_fixture.write_experiment(self.path("only"), "only", make)
        self.good("report", "only")
        self.open("only", "index.html")

    def test_hiding_the_only_method_of_a_panel_hides_it(self):
        self.only("vclip", "huber", "cclip")
        panels = """return [...document.querySelectorAll('.panel')].filter((node) => node.offsetParent).map((node) => node.innerText.split('\\n')[0])"""
        columns = "return document.querySelector('#only-each .panels').style.getPropertyValue('--columns')"
        click = "document.querySelector(`#only-${arguments[0]} .chip[data-id='${arguments[1]}']`).click()"
        self.assertEqual(self.js(panels)[:3], ["vclip", "huber", "cclip"])
        self.js(click, "all", "huber")  # in one legend, for both figures
        self.assertEqual(self.js(panels)[:2], ["vclip", "cclip"])
        self.assertEqual(len(self.js(panels)), 3)
        self.assertEqual(self.js(columns), "2")
        self.assertEqual(self.js("return [...document.querySelectorAll(\".chip[data-id='huber']\")].map((chip) => chip.ariaPressed)"), ["false"] * 2)
        self.js(click, "each", "vclip")
        self.js(click, "each", "cclip")
        self.assertEqual(self.js(panels), [])
        self.assertEqual(self.js("return [...document.querySelectorAll('.nothing')].map((node) => node.hidden)"), [False] * 2)
        self.js(click, "each", "vclip")
        self.assertEqual(len(self.js(panels)), 2)
        self.browser.execute_async_script("setTimeout(arguments[0], 150)")
        self.assertGreater(self.js("return medgradReport.panels[0].chart.width"), 300)  # alone it has the whole room
        self.no_complaints()

    def test_dashes_tell_methods_apart(self):
        self.only("momentum", "vclip", "cclip", "huber")
        sets = self.js("""return medgradReport.panels.at(-1).chart.data.datasets.map((set) => [set.series.key, set.borderDash.join(), set.order])""")
        self.assertEqual(len({dash for _, dash, _ in sets}), 4)
        order = {key: order for key, _, order in sets}
        self.assertLess(order["huber"], order["vclip"])  # drawn later: seen where it lies on VClip
        dashes = self.js("return [...document.querySelectorAll('#only-all .swatch line')].map((line) => line.getAttribute('stroke-dasharray') ?? '')")
        self.assertEqual([dash.replace(" ", ",") for dash in dashes], [dash for _, dash, _ in sets])

    def test_medians_where_there_are_no_means(self):
        self.open("out", "index.html")
        with open(self.path("out/least-squares/figures.json"), encoding="utf-8") as file:
            series = json.load(file)["figures"][0]["panels"][0]["series"][0]
        shown = """const panel = medgradReport.panels.find((one) => one.experiment.name === arguments[0]);
            return [panel.chart.data.datasets[0].data[7].y, panel.figure.statistic, panel.figure.spread, panel.figure.node.querySelector('figcaption').innerText]"""
        y, statistic, spread, caption = self.js(shown, "least-squares")
        self.assertAlmostEqual(y, series["median"][7])
        self.assertEqual((statistic, spread), ("median", "quantiles"))
        self.assertIn("Lines are medians over the runs, since the noise has no variance; bands go from the 10 % to the 90 % quantile",
                      caption)
        top = "return medgradReport.panels.find((one) => one.experiment.name === 'least-squares').chart.scales.y.max"
        before = self.js(top)
        self.js("document.querySelector('#least-squares [data-statistic=mean]').click()")
        y, statistic, spread, caption = self.js(shown, "least-squares")
        self.assertAlmostEqual(y, series["y"][7])
        self.assertEqual((statistic, spread), ("mean", "range"))
        self.assertIn("Lines are means", caption)
        self.assertEqual(self.js(top), before)  # this axis has limits of its own
        buttons = "return [...document.querySelectorAll('#least-squares [data-spread]')].map((button) => button.dataset.spread)"
        self.assertEqual(self.js(buttons), ["range", "error", "none"])
        self.js("document.querySelector('#least-squares [data-statistic=median]').click()")
        self.assertEqual(self.js(buttons), ["quantiles", "range", "none"])
        self.assertEqual(self.js(shown, "moments")[1:3], ["mean", "error"])
        self.assertEqual(self.js("return document.querySelectorAll('#moments [data-statistic]').length"), 0)  # nothing to choose
        self.no_complaints()

    def test_medians_are_compared_where_they_are_shown(self):
        for seed, name in enumerate(("one", "two")):
            report_fixture.write_experiment(self.path(name, "ls"), "ls", report_fixture.least_squares, seed, points=20)
        self.good("report", "one", "two/ls", "--out", "both.html")
        self.open("both.html")
        self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")
        heads = self.js("return [...document.querySelectorAll('.data th')].map((head) => head.innerText.trim())")
        self.assertEqual(heads[-3:], ["median · one", "median · two", "ratio · two"])
        self.no_complaints()

    def test_shades_have_a_legend_and_are_visible(self):
        self.open("out", "index.html")
        self.assertEqual(self.js("return [...document.querySelectorAll('#toy .ramp-label')].map((node) => node.innerText)"),
                         [str(round(0.5 + 0.1 * i, 1)) for i in range(11)])
        self.assertEqual(self.js("return [...document.querySelectorAll('#toy .ramp-name')].map((node) => node.innerText)"),
                         ["Momentum", "VClip", "CClip", "Huber", "1/α"])
        colours = """const colour = (node) => getComputedStyle(node).backgroundColor.match(/\\d+/g).map(Number);
            return [colour(document.querySelector('#toy')), ...[...document.querySelectorAll('#toy .ramp-cell')].map(colour)]"""

        def luminance(rgb):
            linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
            return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear)) + 0.05

        for theme in ("light", "dark"):
            self.emulate(("prefers-color-scheme", theme))
            surface, *cells = self.js(colours)
            self.assertEqual(len(cells), 44)
            contrasts = [max(luminance(surface), luminance(c)) / min(luminance(surface), luminance(c)) for c in cells]
            self.assertGreater(min(contrasts), 2.1, theme)
            for row in range(4):  # in order
                self.assertEqual(contrasts[11 * row:11 * row + 11], sorted(contrasts[11 * row:11 * row + 11]))
        self.emulate()

    def test_the_picture_of_the_readme_has_the_same_colours(self):
        self.open("out", "index.html")
        looks = {look["key"]: look for look in self.js("return medgradReport.report.looks")}
        picture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/images/tracking.svg")
        with open(picture, encoding="utf-8") as file:
            svg = file.read()
        light, dark = re.search(r"<style>(.*)@media\(prefers-color-scheme:dark\)\{(.*)\}</style>", svg).groups()
        for key in ("momentum", "vclip", "cclip"):
            self.assertIn(f".{key}{{stroke:{looks[key]['light']}", light)
            self.assertIn(f".{key}{{stroke:{looks[key]['dark']}", dark)
            self.assertEqual(svg.count(f'class="{key}"'), 3)  # legend, path, errors
        self.assertEqual(len(set(re.findall("#[0-9a-f]{6}", svg))), 6)


if __name__ == "__main__":
    report_browser.main()
