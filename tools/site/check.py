#!/usr/bin/python3
"""check.py FOLDER: is a site whole? Every link and anchor leads somewhere inside, nothing is fetched from a network, every page is in the
navigation, ids are unique, pictures have a text."""
import html.parser
import json
import pathlib
import posixpath
import re
import sys
import urllib.parse

FETCHED = {"img": "src", "script": "src", "link": "href", "source": "srcset", "iframe": "src"}


class Reader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched, self.faults, self.in_navigation, self.listed = [], [], [], [], False, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "nav":
            self.in_navigation = True
        if tag == "a" and "href" in attributes:
            (self.listed if self.in_navigation else self.links).append(attributes["href"])
        elif tag in FETCHED and FETCHED[tag] in attributes:
            self.fetched.append(attributes[FETCHED[tag]])
        if tag == "img" and not attributes.get("alt"):
            self.faults.append(f"a picture without a text: {attributes.get('src')}")

    def handle_endtag(self, tag):
        if tag == "nav":
            self.in_navigation = False


def faults(folder):
    """Sentences on everything that is wrong with the site in a folder."""
    folder = pathlib.Path(folder)
    pages = {str(path.relative_to(folder)): Reader(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("**/*.html"))}
    found, listed = [], set()

    def follow(page, link):
        if re.match(r"(https?|mailto):", link):
            return ""
        if re.match(r"[a-z]+:", link):
            return f"{page}: a link to {link}"
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), urllib.parse.unquote(path))) if path else page
        if not (folder / target).is_file():
            return f"{page}: there is no {target} ({link})"
        if anchor and urllib.parse.unquote(anchor) not in pages[target].ids:
            return f"{page}: {target} has no #{anchor}"
        return ""

    for page, reader in pages.items():
        found += [f"{page}: {fault}" for fault in reader.faults]
        found += [f"{page}: two places with the id {name}" for name in sorted({one for one in reader.ids if reader.ids.count(one) > 1})]
        found += filter(None, (follow(page, link) for link in dict.fromkeys(reader.links + reader.listed)))
        for link in dict.fromkeys(reader.fetched):
            if re.match(r"(https?:)?//", link):
                found.append(f"{page}: fetches {link} from a network")
            elif not link.startswith("data:"):
                found += filter(None, [follow(page, link)])
        listed |= {posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) for link in reader.listed}
    found += [f"{page} is not in the navigation" for page in pages if page not in listed and not page.startswith("source/")]
    index = folder / "search-index.js"
    if index.is_file():
        entries = json.loads(index.read_text(encoding="utf-8").removeprefix("window.searchIndex = ").rstrip().removesuffix(";"))
        found += filter(None, (follow("index.html", entry[0]) for entry in entries))
    return found


if __name__ == "__main__":
    complaints = faults(sys.argv[1])
    print("\n".join(complaints) or "whole")
    sys.exit(bool(complaints))
