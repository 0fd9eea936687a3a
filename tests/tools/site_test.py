"""The site of the documents is whole, fits every screen, and its search and its themes work.

Run by CTest as: site_test.py MEDGRAD. Exit code 77 where something to build it with, or a browser, is missing.
"""

import functools
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/apps"), str(ROOT / "tools/site")]
import check  # noqa: E402
import figures  # noqa: E402
import report_browser  # noqa: E402

# A line, a projection, heat maps; enough to have every kind of page.
EXPERIMENTS = ("toy", "projection", "huber-ablation")


def missing():
    """Why the site cannot be built, or nothing."""
    for module, package in (("markdown_it", "python3-markdown-it"), ("pygments", "python3-pygments")):
        if importlib.util.find_spec(module) is None:
            return f"Python has no {module} (Debian package {package})"
    return "" if shutil.which("doxygen") else "doxygen is not installed (Debian package doxygen)"


@functools.cache
def site():
    """A site, built once for all tests: the folder with its results and, in site/, its pages."""
    temporary = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)

    def run(*command, **options):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)
        assert done.returncode == 0, done.stdout + done.stderr

    run(report_browser.MEDGRAD, "reproduce", *EXPERIMENTS, "--seeds", "2", "--quiet", "--out", str(folder / "results"))
    run("doxygen", "-", input=f"@INCLUDE = docs/Doxyfile\nOUTPUT_DIRECTORY = {folder}\n")
    run(sys.executable, "-B", "tools/site/build.py", "--command", report_browser.MEDGRAD, "--results", str(folder / "results"),
        "--xml", str(folder / "xml"), "--out", str(folder / "site"))
    return folder


@unittest.skipIf(missing(), missing())
class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, cls.out = site(), site() / "site"

    def text(self, page):
        return (self.out / page).read_text(encoding="utf-8")

    def test_it_is_whole(self):
        self.assertEqual(check.faults(self.out), [])

    def test_every_document_and_experiment_is_a_page(self):
        pages = {str(path.relative_to(self.out)) for path in self.out.glob("**/*.html")}
        for path in sorted((ROOT / "docs").glob("*.md")):
            self.assertIn(path.stem + ".html", pages)
        for path in sorted((ROOT / "experiments").glob("*.json")):
            self.assertIn(f"experiments/{path.stem}.html", pages)
        for path in (ROOT / "docs/results").glob("*/README.md"):
            self.assertIn(f"results/{path.parent.name}.html", pages)
        for path in (ROOT / "include/medgrad").glob("**/*.h"):
            name = str(path.relative_to(ROOT / "include/medgrad"))[:-2].replace("/", "-")
            self.assertIn(f"api/{name}.html", pages)

    def test_an_experiment_shows_what_its_run_said(self):
        page = self.text("experiments/toy.html")
        summary = json.loads((self.folder / "results/toy/summary.json").read_text(encoding="utf-8"))
        for claim in summary["claims"]:
            self.assertIn(claim["claim"], page)
        self.assertIn("medgrad reproduce toy", re.sub("<[^>]*>", "", page))
        row, = (row for row in summary["rows"] if row["method"] == "cclip" and row["metric"] == "final_relative_error" and row["inv_alpha"] == 1)
        self.assertIn(f"CClip by {row['median']:.2g} (median of 2 runs)", self.text("index.html"))

    def test_every_method_of_the_registry_is_there(self):
        registry = json.loads(subprocess.run([report_browser.MEDGRAD, "list", "--format", "json"], check=True, capture_output=True).stdout)
        page = self.text("methods.html")
        for kind in ("methods", "aggregators", "optimizers", "attacks", "noises"):
            for method in registry[kind]:
                self.assertIn(f'id="{kind}-{method["name"]}"', page)

    def test_every_name_of_the_python_package_is_there(self):
        page = self.text("python-api.html")
        for name in ("medgrad.aggregate", "medgrad.Stable.fit", "medgrad.theory.C_n", "medgrad.torch.MedianSGD", "medgrad.torch.Crew"):
            self.assertIn(f'id="{name}"', page)

    def test_names_in_documents_lead_to_the_api(self):
        self.assertRegex(self.text("paper-map.html"), r'href="api/estimator.html#ProximalPoint"><code>ProximalPoint')
        self.assertRegex(self.text("torch.html"), r'href="api/torch-optim.html#libtorch::MedianSGD"')
        self.assertRegex(self.text("api/estimator.html"), r'<a href="distances.html#L2">')

    def test_dark_figures_have_the_dark_colours_of_the_methods(self):
        dark = (self.out / "images/toy-final-error-dark.svg").read_text(encoding="utf-8")
        for key in ("momentum", "vclip", "cclip", "huber"):
            light_colour, dark_colour, _ = figures.looks()[key]
            self.assertIn(dark_colour, dark)
            self.assertNotIn("rgb({:3d}, {:3d}, {:3d})".format(*figures.channels(light_colour)), dark)


class CheckTest(unittest.TestCase):
    """A site that is not whole is found out."""

    def faults(self, **pages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                pathlib.Path(folder, name + ".html").write_text(f'<nav><a href="index.html"></a></nav>{text}', encoding="utf-8")
            return check.faults(folder)

    def test_faults(self):
        self.assertEqual(self.faults(index='<a href="#a"></a><p id="a">'), [])
        for text, fault in (('<a href="gone.html">', "index.html: there is no gone.html (gone.html)"),
                            ('<a href="#gone">', "index.html: index.html has no #gone"),
                            ('<img src="https://a.b/c.png" alt="c">', "index.html: fetches https://a.b/c.png from a network"),
                            ('<p id="a"><p id="a">', "index.html: two places with the id a"),
                            ('<img src="data:," alt="">', "index.html: a picture without a text: data:,")):
            self.assertEqual(self.faults(index=text), [fault])
        self.assertEqual(self.faults(index="", lost=""), ["lost.html is not in the navigation"])


@unittest.skipIf(missing() or report_browser.missing_browser(), missing() or report_browser.missing_browser())
class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = site() / "site"
        cls.browser = report_browser.start_browser(str(site() / "profile"))
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.emulate(1280)

    def emulate(self, width, theme="light"):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 800})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})

    def open(self, page):
        self.browser.get((self.out / page).as_uri())

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def test_nothing_is_wider_than_the_screen(self):
        # All documents, and of pages that are made alike the longest few.
        pages = [path for folder in (".", "results") for path in self.out.glob(f"{folder}/*.html")]
        for folder in ("experiments", "api", "source/examples"):
            pages += sorted(self.out.glob(f"{folder}/**/*.html"), key=lambda path: -path.stat().st_size)[:3]
        for page in pages:
            self.open(page)
            for width in (390, 1280):
                self.emulate(width)
                wide = self.js("return document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, f"{page} is {wide} pixels wide on a screen of {width}")
        self.assertEqual([line["message"] for line in self.browser.get_log("browser")], [])

    def test_the_search_finds_and_leads_there(self):
        self.open("experiments/toy.html")  # not at the top, so that ways have to be relative
        self.js("document.getElementById('search').value = arguments[0]", "trimmed-mean per component")
        found = self.browser.execute_async_script("""const done = arguments[arguments.length - 1];
            search().then(() => done([...document.querySelectorAll('#found a')].map((link) => link.href)));""")
        self.assertTrue(found[0].endswith("methods.html#aggregators-trimmed-mean"), found)
        self.js("document.querySelector('#found a').click()")
        self.assertIn(found[0], self.browser.current_url)

    def test_themes(self):
        background = "return getComputedStyle(document.body).backgroundColor"
        shown = "return [...document.querySelectorAll('figure img')].filter((one) => one.offsetParent).map((one) => one.className)"
        self.open("experiments/toy.html")
        light = self.js(background)
        self.assertEqual(set(self.js(shown)), {"on-light"})
        self.emulate(1280, "dark")
        dark = self.js(background)
        self.assertNotEqual(light, dark)
        self.assertEqual(set(self.js(shown)), {"on-dark"})
        self.js("document.getElementById('theme').click()")  # light, whatever the system says
        self.assertEqual((self.js(background), set(self.js(shown))), (light, {"on-light"}))
        self.open("index.html")  # and so is the next page
        self.assertEqual(self.js(background), light)
        self.emulate(1280, "light")
        self.js("document.getElementById('theme').click()")
        self.assertEqual((self.js(background), set(self.js(shown))), (dark, {"on-dark"}))
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})  # paper is white
        self.assertEqual((self.js(background), set(self.js(shown))), ("rgb(255, 255, 255)", {"on-light"}))
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        self.js("document.getElementById('theme').click()")  # as the system says, as at first
        self.assertEqual(self.js(background), light)

    def test_nothing_is_cut_off_on_paper(self):
        # A page of A4 between its margins.
        self.emulate(688)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"media": ""})
        for page in [path for folder in (".", "results") for path in self.out.glob(f"{folder}/*.html")]:
            self.open(page)
            wide = self.js("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, 688, f"{page} is {wide} pixels wide on paper of 688")

    def test_the_menu_on_a_phone(self):
        self.emulate(390)
        self.open("torch.html")
        visible = "return document.getElementById('navigation').offsetParent !== null"
        self.assertFalse(self.js(visible))
        self.js("document.getElementById('menu').click()")
        self.assertTrue(self.js(visible))


if __name__ == "__main__":
    if missing():
        print(f"The site is not tested: {missing()}.")
        sys.exit(77)
    report_browser.main()
