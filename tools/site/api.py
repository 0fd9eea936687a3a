"""The API pages. A public header says all there is to say, so its page is the header: prose as prose, declarations as code, every name
an anchor and a link. Doxygen's XML knows which names there are, and where."""
import html
import re
import xml.etree.ElementTree as xml

import pygments
import pygments.lexers
from pygments.formatters import HtmlFormatter
from pygments.token import Comment, Name

from website import ROOT, Page, coded, scrolled

KINDS = {"class", "struct", "concept", "function", "enum", "typedef", "variable"}
INCLUDE = ROOT / "include"
UNINTERESTING = re.compile(r"#pragma (once|GCC visibility)|#include <")


def url_of(header):
    return f"api/{header.removeprefix('medgrad/').removesuffix('.h').replace('/', '-')}.html"


def headers():
    return sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.glob("medgrad/**/*.h"))


def declared(folder):
    """Everything that Doxygen saw: header -> {line: (name below namespace medgrad, is it a member of a class)}."""
    found, roots = {}, [xml.parse(path).getroot() for path in sorted(folder.glob("*.xml")) if path.name not in ("index.xml", "Doxyfile.xml")]
    namespaces = {node.findtext("compoundname") for root in roots for node in root if node.get("kind") == "namespace"}
    for node in (node for root in roots for node in root.iter()):
        if node.tag not in ("compounddef", "memberdef") or node.get("kind") not in KINDS or node.get("prot") == "private":
            continue
        name = re.sub(r"<.*", "", node.findtext("qualifiedname") or node.findtext("compoundname") or "")
        place, inside = node.find("location"), name.rpartition("::")[0]
        if place is None or not name.startswith("medgrad::") or "@" in name or "internal" in name:
            continue
        header = place.get("file")[place.get("file").rindex("medgrad/"):] if "medgrad/" in place.get("file") else place.get("file")
        found.setdefault(header, {}).setdefault(int(place.get("line")), (name.removeprefix("medgrad::"), inside not in namespaces))
    return found


def symbols(found):
    """What may be a link where it appears as code: name -> url with anchor. Headers; types, functions of more than one word and members
    as Class::member, with and without the namespace. A name with two places is none."""
    places = {}
    for header, lines in found.items():
        for name, is_member in lines.values():
            for form in (name, name.removeprefix("libtorch::"), name.removeprefix("dist::"), name if is_member else name.rpartition("::")[2]):
                places.setdefault(form, set()).add(f"{url_of(header)}#{name}")
    for header in headers():
        places[header] = {url_of(header)}
        places.setdefault(header.rpartition("/")[2], set()).add(url_of(header))
    return {name: min(urls) for name, urls in places.items()
            if len(urls) == 1 and len(name) > 1 and (name[0].isupper() or "::" in name or "_" in name or name.endswith(".h"))}


def prose(lines):
    """A comment as HTML: paragraphs; what is indented by four is a formula."""
    out, paragraph = [], []

    def flush():
        if paragraph:
            out.append(f"<p>{coded(' '.join(paragraph))}</p>")
            paragraph.clear()

    for line in lines:
        if not line.strip():
            flush()
        elif line.startswith("    "):
            flush()
            if out and out[-1].startswith('<pre class="formula">'):
                out[-1] = out[-1].removesuffix("</pre>") + "\n" + html.escape(line[4:]) + "</pre>"
            else:
                out.append(f'<pre class="formula">{html.escape(line[4:])}</pre>')
        else:
            paragraph.append(line.strip())
    flush()
    return "".join(out)


def comment_above(lines, at):
    """The comment before a declaration, which may begin with a template's head."""
    while at > 0 and re.match(r"\s*(template|requires)\b", lines[at - 1]):
        at -= 1
    end = at
    while at > 0 and re.match(r"\s*//", lines[at - 1]):
        at -= 1
    return " ".join(line.strip().lstrip("/ ") for line in lines[at:end])


class Linked(HtmlFormatter):
    """Code in which names lead to where they are declared, and lines that declare something are anchors."""

    def __init__(self, page, known, anchors):
        super().__init__(nowrap=True)
        self.page, self.known, self.anchors = page, known, anchors

    def format_unencoded(self, tokens, out):
        line, fresh = 1, True
        for kind, text in tokens:
            for piece in re.split(r"(\n)", text):
                if not piece:
                    continue
                if fresh and line in self.anchors:
                    out.write(f'<span id="{html.escape(self.anchors[line])}" class="declares">')
                if piece == "\n":
                    out.write("</span>\n" if line in self.anchors else "\n")
                    line, fresh = line + 1, True
                    continue
                fresh = False
                escaped = html.escape(piece)
                named = piece.strip('"') if kind in Comment.PreprocFile else piece if kind in Name else ""
                if named in self.known and self.anchors.get(line) != piece:
                    escaped = f'<a href="{self.page.to(self.known[named])}">{escaped}</a>'
                style = self._get_css_class(kind)
                out.write(f'<span class="{style}">{escaped}</span>' if style else escaped)
        if line in self.anchors and not fresh:
            out.write("</span>")


def header_page(site, header, names, index):
    lines = (INCLUDE / header).read_text(encoding="utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if not line.startswith("//")), 0)
    opening = [line[2:].removeprefix(" ") for line in lines[:start]]
    page = site.add(Page(url_of(header), header.removeprefix("medgrad/"), "", under=index.url))
    first = re.match(r"(.*?[.:;])(\s|$)", " ".join(" ".join(opening).split())) if opening else None
    page.summary = first[1].rstrip(":;.") + "." if first else ""
    kept = [i for i in range(start, len(lines)) if not UNINTERESTING.match(lines[i])]
    kept = [i for before, i in zip([None, *kept], kept) if lines[i] or (before and lines[before])]  # one empty line is enough
    anchors, first_line = {}, {}
    for line, (name, is_member) in sorted(names.items()):
        if line - 1 in kept and first_line.setdefault(name, line) == line:
            anchors[kept.index(line - 1) + 1] = name
            page.names.append([name, name, 3 if is_member else 2, comment_above(lines, line - 1)])
    lexer = pygments.lexers.get_lexer_by_name("cpp", stripnl=False)
    code = pygments.highlight("\n".join(lines[i] for i in kept), lexer, Linked(page, site.symbols, anchors))
    page.body = (f'<h1><code>{header}</code></h1>{prose(opening)}<div class="code api" data-language="cpp"><pre tabindex="0"><code>{code}'
                 "</code></pre></div>")
    return page, [name for name, _, level, _ in page.names if level == 2]


def add_cpp(site, found):
    index = site.add(Page("api/index.html", "C++ API", "", group="Reference", summary="Every public header of medgrad, and every name in it"))
    rows = ""
    for header in headers():
        page, names = header_page(site, header, found.get(header, {}), index)
        link = index.to(page.url)
        links = ", ".join(f'<a href="{link}#{name}"><code>{name.rpartition("::")[2]}</code></a>' for name in names)
        rows += (f'<tr><td><a href="{link}"><code>{header}</code></a></td>'
                 f'<td>{html.escape(page.summary)}<div class="names">{links}</div></td></tr>')
    index.body = ('<h1>C++ API</h1><p class="lead">The public headers, one per concept. Each opens with its mathematics; here they are, with '
                  "every name a link to where it is declared. Everything is in namespace <code>medgrad</code>, what needs libtorch in "
                  "<code>medgrad::libtorch</code>.</p>" + scrolled(f'<table class="headers"><tbody>{rows}</tbody></table>'))
