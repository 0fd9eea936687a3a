"""The method reference, from the registry: what `medgrad list --format json` says."""
import html
import re

from documents import slug
from figures import looks
from website import ROOT, Page, scrolled

DASHES = {"solid": "", "long_dashed": "12 4", "dashed": "6 4", "dotted": "2 3", "dash_dotted": "9 3 2 3", "dash_dot_dotted": "9 3 2 3 2 3"}


def swatch(name):
    """A piece of the line with which the figures draw a method, in its colour."""
    if name not in looks():
        return ""
    light, dark, dash = looks()[name]
    return (f'<svg class="swatch" viewBox="0 0 30 12" aria-hidden="true" style="color: light-dark({light}, {dark})">'
            f'<path d="M0 6H30" stroke="currentColor" stroke-width="3" stroke-dasharray="{DASHES[dash]}"/></svg>')


def default_of(parameter):
    if parameter["required"]:
        return "required"
    value = parameter["default"]
    if "words" in parameter and isinstance(value, (int, float)):
        value = parameter["words"][int(value)]
    return f"{value:g}" if isinstance(value, float) else str(value)


def entry(kind, method):
    also = f' <span class="also">also {", ".join(map(html.escape, method["aliases"]))}</span>' if method["aliases"] else ""
    formula = f'<p class="formula"><code>{html.escape(method["formula"])}</code></p>' if method["formula"] else ""
    rows = "".join(f'<tr><td><code>{html.escape(one["name"])}</code></td><td>{html.escape(one["meaning"])}</td>'
                   f'<td>{html.escape(one["range"])}</td><td>{html.escape(default_of(one))}</td></tr>' for one in method["parameters"])
    table = scrolled('<table class="parameters"><thead><tr><th>parameter</th><th>meaning</th><th>range</th><th>default</th></tr></thead>'
                     f"<tbody>{rows}</tbody></table>") if rows else ""
    return (f'<section class="method"><h3 id="{slug(kind)}-{method["name"]}">{swatch(method["name"])}<code>{method["name"]}</code>{also}</h3>'
            f'<p>{html.escape(method["meaning"])}</p>{formula}{table}</section>')


def add_reference(site, registry):
    """The page of all methods. Titles and first sentences of the kinds are those of docs/methods.md, which has the same order."""
    page = site.add(Page("methods.html", "Methods", "", group="Reference",
                         summary="Every method with its formula, its parameters, their ranges and defaults"))
    text = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^## (.*)\n\n(.*)\n", text, re.M)
    assert len(kinds) == len(registry), "docs/methods.md is not that of this command: run ./dev docs"
    page.body = ('<h1>Methods and their parameters</h1><p class="lead">All that <code>medgrad list</code> knows, as the command, experiments, '
                 "C++ and Python name it. Lines have the colours of the figures.</p>")
    for (title, sentence), (kind, methods) in zip(kinds, registry.items()):
        page.body += f'<h2 id="{slug(title)}">{html.escape(title)}</h2><p>{html.escape(sentence)}</p>'
        if any(method["formula"] for method in methods):
            page.body += "".join(entry(kind, method) for method in methods)
        else:  # experiments and tasks
            shown = '<a href="experiments/{0}.html"><code>{0}</code></a>' if kind == "experiments" else "<code>{0}</code>"
            rows = "".join(f'<tr><td>{shown.format(one["name"])}</td><td>{html.escape(one["meaning"])}</td></tr>' for one in methods)
            page.body += scrolled(f"<table><tbody>{rows}</tbody></table>")
    return page
