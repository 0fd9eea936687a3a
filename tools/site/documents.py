"""Markdown as GitHub reads it, to pages: links lead to pages, code is coloured, names of the API lead there."""
import html
import posixpath
import re

import markdown_it
import pygments
import pygments.formatters
import pygments.lexers

from website import ROOT, Page

LEXERS = {"c++": "cpp", "jsonc": "js", "sh": "bash", "": "text"}
LONGEST_WORD = 24  # code up to this length is not broken at its hyphens
FORMATTER = pygments.formatters.HtmlFormatter(nowrap=True)


def highlighted(code, language):
    lexer = pygments.lexers.get_lexer_by_name(LEXERS.get(language, language), stripnl=False)
    return pygments.highlight(code, lexer, FORMATTER)


def code_block(code, language):
    return f'<div class="code" data-language="{language}"><pre tabindex="0"><code>{highlighted(code, language)}</code></pre></div>\n'


def slug(text):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Document:
    """One file of Markdown as the body of a page of the site."""

    def __init__(self, site, page, path, pages):
        self.site, self.page, self.path, self.pages = site, page, path, pages
        self.anchors, self.titles = {}, site.titles
        self.reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def html(self, text):
        tokens = self.reader.parse(text)
        for before, token in zip([None, *tokens], tokens):
            if token.type == "inline":
                if before is not None and before.type == "heading_open":
                    before.attrSet("id", self.anchor("".join(child.content for child in token.children)))
                token.children = self.inline(token.children)
            elif token.type == "fence":
                token.content, token.type = code_block(token.content, token.info.strip()), "html_block"
            elif token.type == "html_block":
                token.content = self.pictures(token.content)
        body = self.reader.renderer.render(tokens, self.reader.options, {})
        body = re.sub(r"<table>(?=\s*<thead>\s*<tr>\s*<th>what</th>\s*<th>ours</th>)", '<table class="ratios">', body)  # bench/table.py
        body = re.sub(r"<table( class=\"ratios\")?>", r'<div class="scroll" tabindex="0"><table\1>', body).replace("</table>", "</table></div>")
        anchor = r'\1\3 <a class="anchor" href="#\2" aria-label="Link to this section">#</a>\4'
        return re.sub(r'(<h[23] id="([^"]+)">)(.*?)(</h[23]>)', anchor, body)

    def anchor(self, heading):
        name = slug(heading)
        self.anchors[name] = self.anchors.get(name, -1) + 1
        return f"{name}-{self.anchors[name]}" if self.anchors[name] else name

    def inline(self, children):
        depth, out = 0, []
        for i, token in enumerate(children):
            if token.type == "link_open":
                depth += 1
                name = str(self.file(token.attrGet("href")).relative_to(ROOT)) if ":" not in token.attrGet("href") else ""
                if children[i + 1].content in (name, token.attrGet("href")) and name in self.titles:
                    children[i + 1].content = self.titles[name]  # a page has no file name
                token.attrSet("href", self.link(token.attrGet("href")))
            elif token.type == "link_close":
                depth -= 1
            elif token.type == "image":
                token.content = self.site.image(self.page, self.file(token.attrGet("src")), token.content)
                token.type = "html_inline"
            elif token.type == "html_inline":
                token.content = self.pictures(token.content)
            elif token.type == "code_inline" and not depth and self.site.symbol(token.content):
                url = self.page.to(self.site.symbol(token.content))
                token.content = f'<a class="symbol" href="{url}"><code>{html.escape(token.content)}</code></a>'
                token.type = "html_inline"
            elif token.type == "code_inline" and len(token.content) <= LONGEST_WORD:
                token.attrSet("class", "word")
            out.append(token)
        return out

    def file(self, link):
        return ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(self.path), link))

    def pictures(self, text):
        """<picture> with a dark source: a picture in both themes."""
        text = re.sub(r"</?picture>|<source\b[^>]*>", "", text)
        return re.sub(r"<img\b[^>]*>", lambda m: self.site.image(
            self.page, self.file(re.search(r'src="([^"]*)"', m[0])[1]), html.unescape((re.search(r'alt="([^"]*)"', m[0]) or ["", ""])[1])), text)

    def link(self, target):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        target, _, anchor = target.partition("#")
        anchor = f"#{anchor}" if anchor else ""
        name = str(self.file(target).relative_to(ROOT))
        if name in self.pages:
            return self.page.to(self.pages[name]) + anchor
        if not (ROOT / name).exists():
            raise SystemExit(f"{self.path} links to {name}, which is not there.")
        return self.page.to(source_page(self.site, name)) + anchor


def source_page(site, name):
    """A page that shows a file of the repository, or what a folder has; its url."""
    path = ROOT / name
    url = f"source/{name}" + ("/index.html" if path.is_dir() else ".html")
    if url in site.pages:
        return url
    page = site.add(Page(url, name, "", summary=f"{name}, a file of medgrad"))
    title = f"<h1><code>{html.escape(name)}</code></h1>"
    if path.is_dir():
        inside = sorted(one for one in path.iterdir() if one.is_file() and one.suffix in (".cc", ".h", ".py", ".json", ".md", ".txt"))
        links = "".join(f'<li><a href="{page.to(source_page(site, str(one.relative_to(ROOT))))}">{one.name}</a></li>' for one in inside)
        page.body = f"{title}<ul>{links}</ul>"
    else:
        text = path.read_text(encoding="utf-8")
        try:
            language = pygments.lexers.get_lexer_for_filename(path.name).aliases[0]
        except pygments.util.ClassNotFound:
            language = "text"
        page.body = title + code_block(text, language)
    return url


def add_document(site, path, url, pages, title="", **place):
    """The page of a file of Markdown; its first heading is the title unless another is given."""
    text = (ROOT / path).read_text(encoding="utf-8")
    heading = re.search(r"^# (.*)$", text, re.M)
    page = site.add(Page(url, title or heading[1].replace("`", ""), "", **place))
    paragraph = re.search(r"^# .*\n+((?:[^\n#|`<!\[].*\n)+)", text, re.M)
    page.summary = page.summary or (re.sub(r"[`*]|\[(.*?)\]\(.*?\)", r"\1", " ".join(paragraph[1].split()))[:160] if paragraph else "")
    page.body = Document(site, page, path, pages).html(text)
    return page
