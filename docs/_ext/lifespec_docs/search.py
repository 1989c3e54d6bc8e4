"""Write the search index of each built site: `python search.py site/en site/zh-cn`.

The index is a script, because a page that is opened from a file may load nothing else. It has the
text and the keywords of each section, rule, case, API object and term; `search.js` ranks them.
"""

import json
import re
import sys
import zlib
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

FILE = "search-index.js"
LEFT_OUT = {"headerlink", "no-search", "output", "rule-head", "shown"}
NAMED = {"rule", "case", "sig"}  # classes of elements with their ID as the title
BLOCKS = {"dd", "dt", "figcaption", "h1", "h2", "h3", "h4", "li", "p", "summary", "tr"}
WORD = re.compile(r"[A-Za-z_][\w.]*\w")
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}


class Entry:
    """A place that a result leads to; it ends with the element that is `depth` deep."""

    def __init__(self, anchor: str, title: str, depth: int) -> None:
        self.anchor = anchor
        self.title = title
        self.depth = depth
        self.text: list[str] = []
        self.code: list[str] = []
        self.keywords = ""

    def packed(self) -> list[str]:
        """Return anchor, title, lines of text, words of code and keywords."""
        lines = []
        for line in "".join(self.text).split("\n"):
            words = " ".join(line.split()).strip(" ·")
            if words:
                lines.append(words)
        title = self.title
        if not title and lines:  # a section's first line is its heading
            title = lines.pop(0)
        text = "\n".join(lines)
        code = dict.fromkeys(WORD.findall(" ".join(self.code)))
        others = " ".join(word for word in code if word not in text)
        return [self.anchor, title, text, others, " ".join(self.keywords.split())]


class Page(HTMLParser):
    """Read the entries of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.keywords = ""
        self.entries: list[Entry] = []
        self.open: list[Entry] = []
        self.path: list[str] = []
        self.skipped = 0  # the depth of an element that is left out
        self.in_keywords = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, and the entry that it begins."""
        about = {name: value or "" for name, value in attrs}
        classes = set(about.get("class", "").split())
        if tag == "meta" and about.get("name") == "keywords":
            self.keywords = about["content"]
        if tag in VOID:
            return
        self.in_keywords = "keywords" in classes
        self.path.append(tag)
        if not self.skipped and (tag in {"script", "style", "svg"} or classes & LEFT_OUT):
            self.skipped = len(self.path)
        is_named = bool(classes & NAMED)
        if "id" in about and (is_named or tag in {"section", "dt"}):
            self._begin(tag, about["id"], is_named=is_named)

    def _begin(self, tag: str, anchor: str, *, is_named: bool) -> None:
        """Begin an entry, if its element is of the text of the page."""
        if "article" not in self.path:
            return
        depth = len(self.path)
        if tag == "dt":  # its text is in the dd beside it
            depth -= 1
        self._close(depth - 1)
        entry = Entry(anchor, anchor if is_named else "", depth)
        self.open.append(entry)
        self.entries.append(entry)

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and the entries that it holds."""
        if tag in VOID or tag not in self.path:
            return
        self.in_keywords = False
        while self.path.pop() != tag:
            pass
        if len(self.path) < self.skipped:
            self.skipped = 0
        if self.open and tag in BLOCKS:
            self.open[-1].text.append(" " if "tr" in self.path else "\n")
        elif self.open and tag in {"td", "th"}:
            self.open[-1].text.append(" · ")
        self._close(len(self.path))

    def _close(self, depth: int) -> None:
        while self.open and self.open[-1].depth > depth:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if not self.open:
            return
        entry = self.open[-1]
        if self.in_keywords:
            entry.keywords += data
        elif self.skipped:
            return
        elif "pre" in self.path:
            entry.code.append(data)
        else:
            entry.text.append(data)


def index(site: Path) -> str:
    """Return the index of one language: Sphinx leaves the file of a page that is deleted."""
    pages = {}
    packed = (site / "objects.inv").read_bytes().split(b"zlib.\n", 1)[1]
    inventory = zlib.decompress(packed).decode()
    for name in re.findall(r"(?m)^(\S+) std:doc ", inventory):
        page = Page((site / f"{name}.html").read_text(encoding="utf-8"))
        if page.entries:
            entries = [entry.packed() for entry in page.entries]
            pages[name] = [page.keywords, *entries]
    return f"setSearchIndex({json.dumps(pages, ensure_ascii=False, separators=(',', ':'))});\n"


def main(sites: Sequence[str]) -> None:
    """Write the index of each site."""
    for site in map(Path, sites):
        (site / FILE).write_text(index(site), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
