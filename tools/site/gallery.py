"""Pages of the experiments, from their result folders: figures, claims, the command, the settings."""
import html
import json
import pathlib
import re

from documents import code_block
from website import ROOT, Page, scrolled

GROUPS = {"paper": "Of the paper, on synthetic problems", "beyond": "Beyond the paper", "language": "On language models"}
OF_THE_PAPER = re.compile(r"toy|moments|projection|least-squares|huber-ablation|rates")
MARKS = {True: ("holds", "✓"), False: ("fails", "✗"), None: ("open", "?")}


def load(name, results):
    """What a run left: of the results just made, else of those kept with the documents; and its folder, or None."""
    for folder in (pathlib.Path(results) / name, ROOT / "docs/results" / name):
        if (folder / "summary.json").is_file():
            return folder, json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return None, json.loads(read_commented(ROOT / "experiments" / f"{name}.json"))


def read_commented(path):
    """The JSON of a file that may have comments."""
    return re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda found: found[1] or "", path.read_text(encoding="utf-8"))


def figures_of(folder):
    """(file, title, caption, figure of the paper) of every figure in a result folder, in the order of the report."""
    listed = folder / "figures.json"
    if listed.is_file():
        return [(folder / f"{one['id']}.svg", one["title"], one.get("caption", ""), one.get("paper", ""))
                for one in json.loads(listed.read_text(encoding="utf-8"))["figures"] if (folder / f"{one['id']}.svg").is_file()]
    return [(path, path.stem.capitalize(), "", "") for path in sorted(folder.glob("*.svg"))]


def badge(claims):
    held, all_of_them = sum(claim["holds"] is True for claim in claims), len(claims)
    words = ("the claim holds" if held else "the claim fails") if all_of_them == 1 else f"{held} of {all_of_them} claims hold"
    return f'<span class="badge {"holds" if held == all_of_them else "open"}">{words}</span>'


def claim_table(claims):
    rows = "".join('<tr><td class="mark {0}" title="{0}">{1}</td><td>{2}</td><td class="evidence">{3}</td></tr>'.format(
        *MARKS[claim["holds"]], html.escape(claim["claim"]), html.escape(claim["evidence"])) for claim in claims)
    return scrolled(f'<table class="claims"><thead><tr><th></th><th>claim</th><th>evidence</th></tr></thead><tbody>{rows}</tbody></table>')


def experiment_page(site, name, results, pages, index):
    folder, summary = load(name, results)
    page = site.add(Page(f"experiments/{name}.html", name, "", under=index.url, summary=summary["title"]))
    claims = summary.get("claims", [])
    out = [f'<h1>{html.escape(summary["title"])}</h1>',
           f'<p class="lead">{html.escape(summary.get("description", ""))}</p>' if summary.get("description") else "",
           f"<p>{badge(claims)}</p>" if claims else "", code_block(f"medgrad reproduce {name}\n", "sh")]
    if folder is None:
        needs = (f'It takes libtorch, published data (<a href="{page.to("data.html")}">where to get it</a>), and minutes to hours. '
                 if "task" in summary else "")
        out.append(f'<p class="note">There is no run of this experiment here. {needs}Its file:</p>')
        out.append(code_block((ROOT / "experiments" / f"{name}.json").read_text(encoding="utf-8"), "jsonc"))
    else:
        for path, title, caption, paper in figures_of(folder):
            paper = f"In the paper: {html.escape(paper)}. " if paper else ""
            picture = site.image(page, path, f"{summary['title']}: {title}. {caption}")
            out.append(f"<figure>{scrolled(picture)}"
                       f"<figcaption><b>{html.escape(title)}.</b> {paper}{html.escape(caption)}</figcaption></figure>")
        out.append('<h2 id="claims">Claims</h2>' + claim_table(claims) if claims else "")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in summary.get("notes", []))
        out.append(f'<h2 id="notes">Notes</h2><ul>{notes}</ul>' if notes else "")
        told = pages.get(f"docs/results/{name}/README.md")
        out.append(f'<p><a href="{page.to(told)}">What came out, in words</a></p>' if told else "")
        config = code_block((folder / "config.json").read_text(encoding="utf-8"), "json")
        out.append(f"<details><summary>All settings</summary>{config}</details>")
    page.body = "\n".join(part for part in out if part)
    return page, folder, summary


def add_gallery(site, names, results, pages):
    """The index of all experiments and a page for each; all claims."""
    index = site.add(Page("experiments/index.html", "Gallery", "", group="Results", wide=True,
                          summary="Every experiment with its figures, its command and what became of its claims"))
    cards, claims = {group: [] for group in GROUPS}, []
    for name in names:
        page, folder, summary = experiment_page(site, name, results, pages, index)
        claims += summary.get("claims", []) if folder else []
        drawn = figures_of(folder)[:1] if folder else []
        picture = "".join(site.image(index, path, title) for path, title, _, _ in drawn) or '<span class="none">not run here</span>'
        is_language = '"task"' in (ROOT / "experiments" / f"{name}.json").read_text(encoding="utf-8")
        group = "language" if is_language else "paper" if OF_THE_PAPER.match(name) else "beyond"
        cards[group].append(f'<a class="card" href="{index.to(page.url)}"><span class="thumb">{picture}</span>'
                            f'<b>{html.escape(summary["title"])}</b>'
                            f'<span><code>{name}</code>{badge(summary["claims"]) if folder and summary["claims"] else ""}</span></a>')
    held = sum(claim["holds"] is True for claim in claims)
    index.body = ('<h1>Gallery</h1><p class="lead">Every experiment with its figures, its command and what became of its claims. The synthetic '
                  f"ones were run when this site was built: <code>medgrad reproduce</code> takes seconds. {held} of {len(claims)} claims hold; "
                  "where one does not, the evidence says by how much.</p>")
    for group, inside in cards.items():
        index.body += f'<h2 id="{group}">{GROUPS[group]}</h2><div class="cards">{"".join(inside)}</div>'
    return claims
