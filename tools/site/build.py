#!/usr/bin/python3
"""build.py --command MEDGRAD --results FOLDER --xml FOLDER --out FOLDER: writes the site of medgrad's documents.

FOLDER of results is that of `medgrad reproduce`, of XML that of Doxygen (docs/Doxyfile). The site is static and complete: it needs neither a
server nor a network.
"""
import argparse
import html
import json
import pathlib
import re
import shutil
import subprocess

import api
import check
import documents
import gallery
import python_api
import reference
from website import ROOT, Page, Site, scrolled

# (group, file, address, title in the navigation); where there is no file, the page is made from what the program knows.
PAGES = (
    ("Start", "", "index.html", "medgrad"),
    ("Start", "docs/quickstart.md", "quickstart.html", "Quickstart"),
    ("Start", "README.md", "overview.html", "Overview and installing"),
    ("Start", "docs/tutorials.md", "tutorials.html", "Tutorials"),
    ("Guides", "docs/when-to-use.md", "when-to-use.html", "Which estimator?"),
    ("Guides", "docs/tails.md", "tails.html", "Tails and stable laws"),
    ("Guides", "docs/aggregation.md", "aggregation.html", "Robust aggregation"),
    ("Guides", "docs/distributed.md", "distributed.html", "Many workers"),
    ("Guides", "docs/python.md", "python.html", "Python"),
    ("Guides", "docs/torch.md", "torch.html", "libtorch"),
    ("Guides", "docs/language.md", "language.html", "Language models"),
    ("Guides", "docs/experiments.md", "experiments.html", "Experiments of your own"),
    ("Results", "", "experiments/index.html", "Gallery"),
    ("Results", "docs/performance.md", "performance.html", "Performance"),
    ("Reference", "docs/methods.md", "methods.html", "Methods"),
    ("Reference", "", "python-api.html", "Python API"),
    ("Reference", "", "api/index.html", "C++ API"),
    ("Reference", "docs/files.md", "files.html", "Files"),
    ("Reference", "docs/data.md", "data.html", "Data"),
    ("Reference", "docs/paper-map.md", "paper-map.html", "Paper map"),
    ("Project", "CHANGELOG.md", "changelog.html", "Changelog"),
    ("Project", "HACKING.md", "hacking.html", "Working on medgrad"),
)
WITH_PYTHON_NAMES = {"docs/python.md", "docs/tutorials.md"}  # where a name is not that of C++


def measured_sentence(results):
    """What the toy experiment, run for this site, says about Cauchy noise."""
    summary = json.loads((pathlib.Path(results) / "toy/summary.json").read_text(encoding="utf-8"))
    rows = {row["method"]: row for row in summary["rows"] if row["metric"] == "final_relative_error" and row["inv_alpha"] == 1}
    error = {method: f"{rows[method]['median']:.2g}" for method in ("momentum", "vclip", "cclip")}
    return (f"After 1000 gradients with Cauchy noise, momentum is off by {error['momentum']} times the length of the true gradient, "
            f"VClip by {error['vclip']}, CClip by {error['cclip']} (median of {rows['vclip']['n']} runs).")


def start_page(site, results, claims):
    page = site.pages["index.html"]
    held = sum(claim["holds"] is True for claim in claims)
    ways = (("quickstart.html", "Quickstart", "From a clone to a robust gradient, with what every command prints."),
            ("when-to-use.html", "Which estimator?", "Mean or median, clipped how, and when it makes no difference."),
            ("experiments/index.html", "Gallery", f"Every experiment of the paper and a few more: {held} of {len(claims)} claims hold."),
            ("python.html", "Python", "numpy in, numpy out; one changed line in a PyTorch training loop."),
            ("torch.html", "libtorch", "Drop-in optimisers in C++, at the speed of memory."),
            ("aggregation.html", "Robust aggregation", "Workers that lie, and the rules that bear them."),
            ("tails.html", "Tails and stable laws", "How heavy are the tails? Samples, densities, fits, a verdict."),
            ("methods.html", "Methods", "Every method with its formula and its parameters."),
            ("performance.html", "Performance", "Each operation beside the limit of the machine and what others take."))
    cards = "".join(f'<a class="card" href="{url}"><b>{title}</b><span>{html.escape(text)}</span></a>' for url, title, text in ways)
    picture = site.image(page, ROOT / "docs/images/tracking.svg", "Three estimators follow a point through heavy-tailed noise: momentum is "
                         "thrown off again and again, VClip and CClip stay with it")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"^```console\n(.*?)^```$", readme, re.M | re.S)[1]
    page.body = f"""<h1>Track the <em>median</em> of noisy gradients</h1>
<p class="lead">Averages break down when noise has heavy tails or some sources send garbage. medgrad makes stochastic optimisation robust
by following a median of the gradients instead, one clipped step at a time: a C++20 library, a command, and optimisers for PyTorch and
libtorch.</p>
<p class="measured">{html.escape(measured_sentence(results))} <a href="experiments/toy.html">The experiment</a>,
<code>medgrad reproduce toy</code>, was run when this page was built.</p>
<figure class="hero">{scrolled(picture)}</figure>
{documents.code_block(example, "console")}
<div class="cards">{cards}</div>
<p>Based on <a href="https://openreview.net/forum?id=WMxLEgYGxu">Tracking the Median of Gradients with a Stochastic Proximal Point
Method</a> (TMLR 2025); the <a href="paper-map.html">paper map</a> leads from every equation to the code and its test.</p>"""


def build(command, results, xml, out):
    site = Site(out, (ROOT / "VERSION").read_text(encoding="utf-8").strip())
    registry = json.loads(subprocess.run([command, "list", "--format", "json"], check=True, capture_output=True).stdout)
    pages = {path: url for _, path, url, _ in PAGES if path}
    told = sorted((ROOT / "docs/results").glob("*/README.md"))
    pages.update({str(path.relative_to(ROOT)): f"results/{path.parent.name}.html" for path in told})
    pages["docs/results"] = "experiments/index.html"
    site.titles = {path: title for _, path, _, title in PAGES if path}
    declared = api.declared(pathlib.Path(xml))
    names = api.symbols(declared)
    claims = []
    for group, path, url, title in PAGES:
        site.symbols = {} if path in WITH_PYTHON_NAMES else names
        if url == "methods.html":
            reference.add_reference(site, registry)
        elif path:
            documents.add_document(site, path, url, pages, title, group=group)
        elif url == "index.html":
            site.add(Page(url, title, "", group=group, wide=True, summary="Robust optimisation by tracking the median of noisy gradients"))
        elif url == "experiments/index.html":
            claims = gallery.add_gallery(site, [one["name"] for one in registry["experiments"]], results, pages)
            for one in told:
                path = str(one.relative_to(ROOT))
                documents.add_document(site, path, pages[path], pages, f"What came out: {one.parent.name}", group=group)
        elif url == "python-api.html":
            python_api.add_python(site)
        else:
            api.add_cpp(site, declared)
    start_page(site, results, claims)
    shutil.rmtree(out, ignore_errors=True)
    return site.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("command", "results", "xml", "out"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    count = build(options.command, options.results, options.xml, options.out)
    faults = check.faults(pathlib.Path(options.out))
    for fault in faults:
        print(fault)
    print(f"Wrote {options.out}/index.html: {count} pages")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
