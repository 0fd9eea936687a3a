"""What a site is: pages with their place in the navigation, the files that go with them, and how each is written."""
import dataclasses
import html
import html.parser
import json
import pathlib
import posixpath
import re
import string

import figures

ROOT = figures.ROOT
MOST_ENTRIES = 40  # in the list of what is on a page; where there are more, only the chief ones
HERE = pathlib.Path(__file__).parent


def coded(text):
    """Plain text as HTML, with `this` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def scrolled(inner):
    """What may be wider than the screen scrolls by itself."""
    return f'<div class="scroll" tabindex="0">{inner}</div>'


@dataclasses.dataclass
class Page:
    url: str           # "experiments/toy.html", from the top of the site
    title: str         # in the navigation and the tab
    body: str          # HTML; its links are relative to the page
    group: str = ""    # of the navigation; pages without one are not in it
    under: str = ""    # the url of the page under which the navigation lists it
    summary: str = ""  # one sentence
    wide: bool = False # without the list of what is on the page
    names: list = dataclasses.field(default_factory=list)  # [anchor, heading, level, text] of what is declared in a page of the API

    def to(self, url):
        """The way from here to a url of the site."""
        return posixpath.relpath(url, posixpath.dirname(self.url) or ".")


class Sections(html.parser.HTMLParser):
    """A page's text, cut at its headings: [id, heading, level, text], the first before any of them."""
    SKIPPED = {"anchor", "arguments", "also", "swatch"}  # classes of elements that are no part of the text

    def __init__(self, body):
        super().__init__()
        self.found, self.in_heading, self.skipping = [["", "", 1, ""]], False, ""
        self.feed(body)

    def handle_starttag(self, tag, attributes):
        if not self.skipping and dict(attributes).get("class") in self.SKIPPED:
            self.skipping = tag
        if re.fullmatch("h[1-3]", tag) and dict(attributes).get("id"):
            self.found.append([dict(attributes)["id"], "", int(tag[1]), ""])
            self.in_heading = True

    def handle_endtag(self, tag):
        if tag == self.skipping:
            self.skipping = ""
        if re.fullmatch("h[1-3]", tag):
            self.in_heading = False
        elif tag in ("p", "td", "th", "li", "pre"):
            self.found[-1][3] += " "

    def handle_data(self, data):
        if not self.skipping:
            self.found[-1][1 if self.in_heading else 3] += data


class Site:
    def __init__(self, out, version):
        self.out, self.version, self.pages, self.assets = pathlib.Path(out), version, {}, {}
        self.titles = {}   # of the files of Markdown that are pages
        self.symbols = {}  # what may be linked where it appears as code: name -> url with its anchor

    def symbol(self, code):
        """Where the name is declared with which a piece of code begins, or nothing: `ProximalPoint{L2}`."""
        return self.symbols.get(code) or self.symbols.get(re.match(r"([\w:]*)(?:[({<].*)?$|", code, re.S)[1])

    def add(self, page):
        assert page.url not in self.pages, page.url
        self.pages[page.url] = page
        return page

    def image(self, page, path, alt):
        """HTML of a picture: a file of the repository or of results, in both themes where it is an SVG."""
        path = pathlib.Path(path)
        name = "images/" + "-".join(path.parts[-2:])
        alt = html.escape(alt, quote=True)
        if path.suffix != ".svg":
            self.assets[name] = path.read_bytes()
            return f'<img src="{page.to(name)}" alt="{alt}" loading="lazy">'
        svg = path.read_text(encoding="utf-8")
        dark_name = name[:-4] + "-dark.svg"
        given = path.with_name(path.name.replace("-light.svg", "-dark.svg"))
        light, dark = (svg, given.read_text(encoding="utf-8")) if given != path else figures.themed(svg)
        self.assets[name], self.assets[dark_name] = light.encode(), dark.encode()
        size = re.search(r"<svg[^>]*viewBox=[\"'][-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)", svg)
        size = f' width="{round(float(size[1]))}" height="{round(float(size[2]))}"' if size else ""
        return "".join(f'<img class="on-{theme}" src="{page.to(url)}" alt="{alt}"{size} loading="lazy">'
                       for theme, url in (("light", name), ("dark", dark_name)))

    def navigation(self, page):
        groups, nested = {}, {}
        for one in self.pages.values():
            if one.under:
                nested.setdefault(one.under, []).append(one)
            elif one.group:
                groups.setdefault(one.group, []).append(one)

        def item(one):
            here = ' aria-current="page"' if one is page else ""
            link = f'<a href="{page.to(one.url)}"{here}>{html.escape(one.title)}</a>'
            below = nested.get(one.url)
            if not below:
                return f"<li>{link}</li>"
            opened = " open" if one.url in (page.url, page.under) else ""
            return (f"<li>{link}<details{opened}><summary>{len(below)} pages</summary><ul>{''.join(map(item, below))}</ul>"
                    "</details></li>")

        return "".join(f"<p>{group}</p><ul>{''.join(map(item, pages))}</ul>" for group, pages in groups.items())

    @staticmethod
    def contents(page):
        entries = [(anchor, title, level) for anchor, title, level, _ in page.names or Sections(page.body).found if level in (2, 3) and anchor]
        if page.wide or len(entries) < 3:
            return ""
        if len(entries) > MOST_ENTRIES:
            entries = [entry for entry in entries if entry[2] == 2]
        lines = "".join(f'<li class="level-{level}"><a href="#{anchor}">{html.escape(title)}</a></li>'
                        for anchor, title, level in entries)
        return f'<aside class="contents" aria-label="On this page"><p>On this page</p><ul>{lines}</ul></aside>'

    def index(self):
        """What the search looks through: pages and their sections."""
        entries = []
        for page in self.pages.values():
            if not page.group and not page.under:
                continue
            told = [entry for entry in page.names if entry[2] < 3 or entry[3]]  # members only where there is something to say
            for anchor, heading, level, text in Sections(page.body).found + told:
                text = " ".join(text.split())
                if text or heading:
                    entries.append([page.url + (f"#{anchor}" if level > 1 else ""), page.title, heading if level > 1 else "", text])
        return entries

    def write(self):
        template = string.Template((HERE / "page.html").read_text(encoding="utf-8"))
        files = dict(self.assets)
        for name in ("site.css", "site.js"):
            files[name] = (HERE / name).read_bytes()
        files["search-index.js"] = ("window.searchIndex = " + json.dumps(self.index(), ensure_ascii=False) + ";\n").encode()
        for page in self.pages.values():
            title = page.title if page.title == "medgrad" else f"{page.title} – medgrad"
            files[page.url] = template.substitute(
                title=html.escape(title), summary=html.escape(page.summary, quote=True), root=page.to("index.html")[:-len("index.html")],
                navigation=self.navigation(page), contents=self.contents(page), body=page.body, version=self.version).encode()
        for name, data in files.items():
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return len(self.pages)
