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

import report_browser
import report_fixture
from report_browser import InBrowser, InTemporaryFolder, run


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
        self.bad("summary.json is not a folder", "report", self.broken("file", "summary.json", "{") + "/summary.json")
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


class Browser(InBrowser):
    def test_every_panel_draws_its_series(self):
        self.open("out", "index.html")
        drawn = self.js("""return medgradReport.panels.map((panel) => [panel.experiment.name, panel.id, panel.heat
            ? document.querySelectorAll('.heat .cell').length
            : panel.chart.data.datasets.filter((set, i) => panel.chart.isDatasetVisible(i)).length])""")
        expected = []
        for name in ("toy", "moments", "projection", "byzantine", "least-squares"):  # the paper's order, then others
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

    def test_titles_stand_above_their_figures(self):
        self.open("out", "index.html")
        titles = self.js("""return medgradReport.panels.map(({ figure }) => [figure.title, figure.node.firstElementChild.tagName, figure.node.firstElementChild.innerText])""")
        self.assertTrue(any(title for title, _, _ in titles))
        for title, tag, text in titles:
            if title:
                self.assertEqual((tag, text), ("H3", title))

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
        self.assertIn("aggregator,attack,final objective", [csv.splitlines()[0] for csv, _ in saved])

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
    report_browser.main()
