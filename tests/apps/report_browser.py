"""What tests of the report share: the command, temporary folders, and Chromium with a page in it."""

import os
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


@unittest.skipIf(missing_browser(), missing_browser())
class InBrowser(InTemporaryFolder):
    """The page of report_fixture.py in Chromium: out/index.html."""

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
        # A page is told of another theme or size when it is next painted.
        self.browser.execute_async_script("""const done = arguments[arguments.length - 1];
            requestAnimationFrame(() => requestAnimationFrame(() => done()));""")


def main():
    """Runs the tests of the program's own file; MEDGRAD is its first argument. Exit code 77 where there is no browser."""
    global MEDGRAD
    MEDGRAD = os.path.abspath(sys.argv.pop(1))
    why = missing_browser()
    if why:
        print(f"The report is not tested in a browser: {why}.")
    program = unittest.main(module="__main__", exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if why else 0)
