"""The report in a browser: it loads without a complaint, draws every series, and its switches switch.

Run by CTest as: report_test.py MEDGRAD. Where Chromium or its driver are missing it is skipped (exit code 77), except for
what needs no browser.
"""

import base64
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import report_fixture

MEDGRAD = ""


def run(*arguments, **options):
    return subprocess.run([MEDGRAD, *map(str, arguments)], capture_output=True, timeout=120, check=False, **options)


def missing_browser():
    """Why there is no browser to test in, or nothing."""
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian package {package})"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "Selenium is not installed (Debian package python3-selenium)"
    return ""


def start_browser(profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                     "--window-size=1300,1000", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


class InTemporaryFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.addClassCleanup(cls.temporary.cleanup)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def good(self, *arguments):
        result = run(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result


class Command(InTemporaryFolder):
    def bad(self, sentence, *arguments):
        before = sorted(os.walk(self.folder))
        result = run(*arguments, cwd=self.folder)
        error = result.stderr.decode()
        with self.subTest(arguments=arguments, error=error):
            self.assertEqual(result.returncode, 2)
            self.assertTrue(re.fullmatch(r"medgrad: [^\n]+\.\n", error))
            self.assertRegex(error, sentence)
            self.assertEqual(sorted(os.walk(self.folder)), before)

    def broken(self, name, file, content):
        report_fixture.write_experiment(self.path(name), "toy", report_fixture.toy, points=3)
        with open(self.path(name, file), "w", encoding="utf-8") as out:
            out.write(content)
        return self.path(name)

    def test_mistakes_are_told_in_one_sentence(self):
        os.makedirs(self.path("empty"))
        self.bad("DIR", "report")
        self.bad("nowhere does not exist", "report", self.path("nowhere"))
        self.bad("empty has no summary.json", "report", self.path("empty"))
        self.bad("summary.json is no folder", "report", self.broken("file", "summary.json", "{") + "/summary.json")
        self.bad(r"summary.json:2: this is not JSON", "report", self.broken("syntax", "summary.json", '{"a": 1,\n}'))
        self.bad("summary.json: experiment must be a text", "report", self.broken("name", "summary.json", "{}"))
        self.bad("summary.json: claims must be a list", "report", self.broken("claims", "summary.json", '{"claims": 3}'))
        self.bad(r"config.json:1: this is not JSON", "report", self.broken("config", "config.json", "no"))
        self.bad("figures.json: .*y must be as long as x", "report", self.broken(
            "lengths", "figures.json", '{"figures": [{"id": "a", "panels": [{"series": [{"x": [1], "y": []}]}]}]}'))
        self.bad("figures.json: .*id must be a name", "report",
                 self.broken("escape", "figures.json", '{"figures": [{"id": "../a"}]}'))

    def test_page_and_drawings(self):
        report_fixture.write_all(self.path("out"))
        self.good("report", "out", "--svg", "--pdf")
        self.assertTrue(os.path.exists(self.path("out", "index.html")))
        if shutil.which("gnuplot") is None:
            return
        for name in report_fixture.EXPERIMENTS:
            with open(self.path("out", name, name + ".svg"), encoding="utf-8") as file:
                self.assertTrue(file.read().rstrip().endswith("</svg>"), name)
            with open(self.path("out", name, name + ".pdf"), "rb") as file:
                self.assertEqual(file.read(5), b"%PDF-", name)

    def test_without_gnuplot_it_says_so_and_goes_on(self):
        report_fixture.write_experiment(self.path("plain"), "toy", report_fixture.toy, points=3)
        result = run("report", "plain", "--svg", cwd=self.folder, env={"PATH": "/nowhere"})
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"gnuplot is not installed", result.stderr)
        self.assertTrue(os.path.exists(self.path("plain", "index.html")))


@unittest.skipIf(missing_browser(), missing_browser())
class Browser(InTemporaryFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = start_browser(os.path.join(cls.folder, "profile"))
        cls.addClassCleanup(cls.browser.quit)
        report_fixture.write_all(os.path.join(cls.folder, "out"))
        run("report", os.path.join(cls.folder, "out"))

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def open(self, *names):
        self.browser.get_log("browser")
        self.browser.get("file://" + self.path(*names))
        self.js("medgradReport.panels.forEach(medgradReport.realise)")

    def no_complaints(self):
        # These tests read pixels, of which Chromium has an opinion.
        self.assertEqual([line for line in self.browser.get_log("browser") if "willReadFrequently" not in line["message"]], [])

    def emulate(self, *features, **metrics):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in features]})
        if metrics:
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        else:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_every_panel_draws_its_series(self):
        self.open("out", "index.html")
        drawn = self.js("""return medgradReport.panels.map((panel) => [panel.experiment.name, panel.id, panel.heat
            ? document.querySelectorAll('.heat .cell').length
            : panel.chart.data.datasets.filter((set, i) => panel.chart.isDatasetVisible(i)).length])""")
        expected = []
        for name in sorted(report_fixture.EXPERIMENTS):
            with open(self.path("out", name, "figures.json"), encoding="utf-8") as file:
                for figure in json.load(file)["figures"]:
                    expected += [[name, panel["id"], len(panel["heat"]["z"]) if "heat" in panel else
                                  len(panel["series"])] for panel in figure["panels"]]
        self.assertEqual(drawn, expected)
        # Something is painted in every canvas: more colours than the background's.
        self.assertTrue(all(self.js("""return medgradReport.panels.filter((panel) => panel.canvas).map((panel) => {
            const { width, height } = panel.canvas;
            const data = new Uint32Array(panel.canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
            return new Set(data).size > 20; })""")))
        self.no_complaints()

    def test_switches(self):
        self.open("out", "index.html")
        visible = """const panel = medgradReport.panels.find((one) => one.experiment.name === 'toy' && one.id === arguments[0]);
            return panel.chart.data.datasets.filter((set, i) => panel.chart.isDatasetVisible(i)).map((set) => set.series.key)"""
        chip = "#toy .chip[data-id='momentum']"
        largest = """return medgradReport.panels.find((one) => one.id === 'final').chart.scales.y.max"""
        before = self.js(largest)
        self.js("document.querySelector(arguments[0]).click()", chip)
        for panel in ("final", "curves"):
            self.assertNotIn("momentum", self.js(visible, panel))
            self.assertIn("vclip", self.js(visible, panel))
        self.assertLess(self.js(largest), before)  # the axis follows what is shown
        self.assertEqual(self.js("return document.querySelector(arguments[0]).getAttribute('aria-pressed')", chip), "false")
        self.js("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('dblclick'))", chip)
        self.assertEqual(set(self.js(visible, "curves")), {"momentum"})
        self.js("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('dblclick'))", chip)
        self.assertEqual(len(self.js(visible, "final")), 4)

        scale = "return medgradReport.panels.find((one) => one.id === 'final').chart.scales.y.type"
        self.assertEqual(self.js(scale), "logarithmic")
        self.js("document.querySelector('#toy [data-axis=logY]').click()")
        self.assertEqual(self.js(scale), "linear")
        with_band = self.js(largest)
        self.js("document.querySelector('#toy [data-spread=none]').click()")
        self.assertLess(self.js(largest), with_band)
        self.js("document.querySelector('#toy [data-spread=error]').click()")
        self.no_complaints()

    # What sticks out of the window, and what has to be scrolled sideways inside of it.
    WIDE = """const all = [...document.querySelectorAll('body *')].filter((node) => node.getClientRects().length);
        const name = (node) => `${node.tagName}.${node.getAttribute('class') ?? ''}`;
        const scrolls = (node) => ['auto', 'scroll'].includes(getComputedStyle(node).overflowX) && node.scrollWidth > node.clientWidth + 1;
        return [document.documentElement.scrollWidth <= innerWidth, all.filter(scrolls).map(name)]"""

    def test_nothing_scrolls_sideways(self):
        for seed, name in enumerate(("one", "two")):
            report_fixture.write_experiment(self.path(name, "toy"), "toy", report_fixture.toy, seed, points=20)
        self.good("report", "one", "two/toy", "--out", "both.html")
        for page in ("out/index.html", "both.html"):
            self.open(page)
            self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
            for width in (360, 500, 700, 1000, 1085, 1200, 1300, 1400):
                self.emulate(width=width, height=900, deviceScaleFactor=1, mobile=False)
                self.browser.execute_async_script("setTimeout(arguments[0], 120)")
                with self.subTest(page=page, width=width):
                    self.assertEqual(self.js(self.WIDE), [True, []])
        self.emulate()

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

    def test_tables_as_csv(self):
        self.open("out", "index.html")
        self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")
        save = """const done = arguments[0];
            const make = URL.createObjectURL;
            URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };
            HTMLAnchorElement.prototype.click = () => {};
            document.querySelector('#toy [data-save=table]').click()"""
        with open(self.path("out/toy/summary.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        lines = list(csv.DictReader(io.StringIO(self.browser.execute_async_script(save))))
        self.assertEqual([float(line["mean"]) for line in lines], [row["mean"] for row in rows])  # all digits, all rows
        self.assertEqual([line["method"] for line in lines], [row["method"] for row in rows])
        self.js("""const input = document.querySelector('#toy input'); input.value = 'vclip'; input.dispatchEvent(new Event('input'))""")
        lines = list(csv.DictReader(io.StringIO(self.browser.execute_async_script(save))))
        self.assertEqual({line["method"] for line in lines}, {"vclip"})
        self.assertEqual(len(lines), 11)
        self.no_complaints()

    def test_where_it_comes_from(self):
        self.open("out", "index.html")
        header = self.js("return document.querySelector('header').innerText")
        self.assertIn("Regenerate this page:", header)
        self.assertIn("medgrad report " + self.path("out"), header)
        self.assertRegex(header, r"Created on \d{4}-\d\d-\d\d \d\d:\d\d UTC by medgrad \S+ \(.+, .+, .+\) on .+ \(\d+ threads?\)\.")
        links = self.js("return [...document.querySelectorAll('#least-squares figcaption a')].map((link) => [link.innerText, link.href])")
        self.assertEqual(links, [["Figure 3", "https://arxiv.org/abs/2402.12828"]])
        self.assertEqual(self.js("return document.querySelectorAll('#toy figcaption a').length"), 0)

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

    def test_hover_tells_values(self):
        self.open("out", "index.html")
        lines = self.js("""const { chart } = medgradReport.panels.find((one) => one.id === 'final');
            const { x, y } = chart.getDatasetMeta(1).data[5];
            chart.tooltip.setActiveElements(chart.data.datasets.map((set, i) => ({ datasetIndex: i, index: 5 })), { x, y });
            chart.update();
            return [chart.tooltip.title[0], ...chart.tooltip.body.map((part) => part.lines[0])]""")
        self.assertEqual(lines[0], "1/α = 1")
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[1], r"^Momentum: [\d.]+ ± [\d.]+  \[[\d.]+ … [\d.]+\]$")

    def test_tables_settings_and_claims(self):
        self.open("out", "index.html")
        self.assertEqual(self.js("return document.querySelectorAll('table').length"), 0)  # built when opened
        self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")
        rows = "return [...document.querySelectorAll('#toy tbody tr')].map((row) => row.innerText.split('\\t'))"
        self.assertEqual(len(self.js(rows)), 44)
        self.js("""const input = document.querySelector('#toy input'); input.value = 'VCLIP 0.5';
            input.dispatchEvent(new Event('input'))""")
        self.assertTrue(all(row[0] == "vclip" for row in self.js(rows)))
        self.js("""const input = document.querySelector('#toy input'); input.value = ''; input.dispatchEvent(new Event('input'));
            [...document.querySelectorAll('#toy th button')].find((button) => button.innerText.startsWith('mean')).click()""")
        means = [float(row[3].replace("−", "-")) for row in self.js(rows)]
        self.assertEqual(means, sorted(means))
        text = self.js("return document.getElementById('toy').innerText")
        for part in ("✓", "✗", "–", '"tau"', "medgrad reproduce toy", "medgrad run toy/config.json", "see <toy-long>"):
            self.assertIn(part, text)
        # The texts of a closed part are read, since they are not shown.
        self.assertIn("7 of 9", self.js("return document.querySelector('header').textContent"))
        self.no_complaints()

    def test_files_to_save(self):
        self.open("out", "index.html")
        saved = self.js("""return medgradReport.panels.map((panel) => [medgradReport.panelCsv(panel),
            new DOMParser().parseFromString(medgradReport.panelSvg(panel), 'image/svg+xml').documentElement.nodeName])""")
        for csv, root in saved:
            self.assertEqual(root, "svg")
            self.assertGreater(len(csv.splitlines()), 5)
        self.assertEqual(saved[0][0].splitlines()[0], "aggregator,attack,final objective")

    def test_dark_phone_and_paper(self):
        self.open("out", "index.html")
        background = "return getComputedStyle(document.body).backgroundColor"
        light = self.js(background)
        self.emulate(("prefers-color-scheme", "dark"), width=390, height=800, deviceScaleFactor=2, mobile=True)
        self.assertNotEqual(self.js(background), light)
        self.assertEqual(self.js("return document.documentElement.scrollWidth"), 390)  # nothing sticks out
        corner = """const panel = medgradReport.panels.find((one) => one.canvas); medgradReport.onPaper(arguments[0]);
            return [...panel.canvas.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)"""
        self.assertLess(max(self.js(corner, False)), 60)
        self.assertEqual(self.js(corner, True), [255, 255, 255])
        self.assertLess(max(self.js(corner, False)), 60)
        pdf = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        self.assertTrue(base64.b64decode(pdf["data"]).startswith(b"%PDF-"))
        self.emulate()
        self.no_complaints()

    def test_runs_are_compared(self):
        for seed, name in enumerate(("one", "two")):
            report_fixture.write_experiment(self.path(name, "toy"), "toy", report_fixture.toy, seed, points=20)
        self.good("report", "one", "two/toy", "--out", "both.html")
        self.open("both.html")
        names = self.js("return medgradReport.panels[0].chart.data.datasets.map((set) => set.label)")
        self.assertEqual(len(names), 8)
        self.assertIn("VClip · one", names)
        self.assertIn("VClip · two", names)
        self.js("document.querySelector('.runs .chip').click()")
        self.assertEqual(self.js("""const { chart } = medgradReport.panels[0];
            return chart.data.datasets.filter((set, i) => chart.isDatasetVisible(i)).map((set) => set.series.run)"""), [1] * 4)
        self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")
        heads = self.js("return [...document.querySelectorAll('.data th')].map((head) => head.innerText.trim())")
        self.assertEqual(heads, ["method", "inv alpha", "metric", "mean · one", "mean · two", "ratio · two"])
        self.assertIn("Where the settings differ", self.js("return document.body.innerText"))
        self.no_complaints()

    def test_texts_are_only_texts(self):
        evil = "</script><img src=x onerror='document.title=\"hit\"'> <b>\"'&\u2028"
        report_fixture.write_experiment(self.path("evil"), evil, lambda _: {
            "title": evil, "description": evil, "claims": [(evil, False, evil)], "notes": [evil],
            "rows": [report_fixture.row(evil, evil, float("inf"))],
            "figures": [{"id": "f", "title": evil, "caption": evil, "panels": [
                {"id": evil, "title": evil, "note": evil, "x": {"label": evil}, "y": {"label": evil},
                 "series": [report_fixture.curve(evil, evil, [1, 2, 3], [1.0, float("nan"), float("inf")])]},
                *({"id": f"extreme{log}", "title": "", "x": {"log": log}, "y": {"log": log}, "series": [report_fixture.curve(
                    "a", "a", [5e-324, 1.0, 1.7e308], [1.7e308, 5e-324, -1.7e308], band=2)]} for log in (False, True)),
                {"id": "h", "title": evil, "series": [], "heat": {"x": [evil], "y": [evil], "z": ["inf"], "label": evil}}]}]})
        self.good("report", "evil", "--svg")
        self.open("evil", "index.html")
        self.js("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        self.browser.execute_async_script("setTimeout(arguments[0], 50)")
        self.js("document.querySelectorAll('[data-axis], [data-spread], .chip').forEach((button) => button.click())")
        self.assertEqual(self.browser.title, "medgrad report")
        self.assertEqual(self.js("return document.querySelectorAll('img').length"), 0)
        self.assertIn("</script><img", self.js("return document.querySelector('h2').innerText"))
        self.no_complaints()


if __name__ == "__main__":
    MEDGRAD = os.path.abspath(sys.argv.pop(1))
    why = missing_browser()
    if why:
        print(f"The report is not tested in a browser: {why}.")
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if why else 0)
