"""The pages of problems, as a terminal shows them.

A page is Markdown.  The package has the pages and their catalog, which the build puts there; a
checkout has them in its folders of documents and of translations.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import takewhile
from pathlib import Path

from lifespec.catalog import WIDTH, Translate, read_catalog, wrapped
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.problem import PROBLEMS, names_of
from lifespec.words import base, site

CHECKOUT = Path(__file__).parents[2]
CATALOG = "locales/zh_CN/LC_MESSAGES/problems.po"
CODE_INDENT = "    "
CHINESE = "{output} zh"  # a block
FENCE = re.compile(r"^(`{3,}|:{3,})(.*)$")
ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
FILE = re.compile(r"\.file-(\w+)")
LABEL = re.compile(r"^(?:\(.*\)=|\{[.#].*\})$")  # an anchor, or classes of what follows
LINK = re.compile(r"\[([^\]]+)\]\(([^)]*)\)")
SECTION = re.compile(r"(“?)\[\]\(\.\./([\w-]+)\.md(#[\w-]+)\)”?")  # the site has its title
ROLE = re.compile(r"(《?)\{(\w+)[\w:]*\}`([^`]*)`(》?)")  # with the marks of a title in Chinese
TARGET = re.compile(r"^(.*?) ?<(.*)>$")


def folder() -> Traversable:
    """Return where the pages are: in the package, or in the documents of a checkout."""
    packaged = resources.files("lifespec") / "problems"
    if packaged.is_dir():
        return packaged
    return CHECKOUT / "docs" / "problems"


def page(name: str) -> str:
    """Return the page of a problem."""
    return (folder() / f"{name}.md").read_text("utf-8")


@functools.cache
def problem_catalog(language: str) -> Mapping[str, str]:
    """Return the translations of the pages, by the English."""
    if language == "en":
        return {}
    file = folder() / f"problems.{language}.po"
    if not file.is_file():
        file = CHECKOUT / CATALOG
    return read_catalog(file.read_text("utf-8"))


def _translator(language: str) -> Translate:
    known = problem_catalog(language)
    return lambda english: known.get(english, english)


def title(name: str, language: str) -> str:
    """Return the title of a problem's page."""
    heading = next(line for line in page(name).split("\n") if line.startswith("# "))
    return _plain(_translator(language)(heading.removeprefix("# ")), language)


def explaining(facts: Iterable[object]) -> list[Fact]:
    """Return the commands that explain what facts tell of: one for each problem."""
    return [fact("explain", name=name) for name in names_of(facts)]


def problem_lines(name: str, language: str) -> Iterator[str]:
    """Yield what a terminal shows of a problem's page."""
    translate = _translator(language)
    last = "caption"  # no line is empty below one, nor at the top, nor between items
    for kind, text in _in_language(list(_page_parts(page(name))), language):
        is_next_item = last == kind == "item"
        if last != "caption" and not is_next_item:
            yield ""
        last = kind
        if kind == "code":
            for line in text.split("\n"):
                yield f"{CODE_INDENT}{line}".rstrip()
        elif kind == "output":  # it is as wide as the terminal already
            yield from text.split("\n")
        elif kind == "item":
            yield from wrapped(f"- {_plain(translate(text), language)}", WIDTH, "  ")
        else:
            yield from wrapped(_plain(translate(text), language), WIDTH)
    if base():
        yield ""
        yield f"{site(language)}problems/{name}.html"


def _page_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a page: what each is, and its text.

    A paragraph is one line, as it is in the catalog.
    """
    lines = iter(f"{text}\n".split("\n"))  # the last paragraph ends, too
    paragraph: list[str] = []
    file = ""
    for line in lines:
        fence, label = FENCE.match(line), LABEL.match(line)
        begins_anew = any((not line.strip(), ITEM.match(line), fence, label))
        if paragraph and begins_anew:
            yield _paragraph(paragraph)
            paragraph = []
        if fence:
            if file:
                yield "caption", file
            file = ""
            yield fence[2].strip(), "\n".join(_until(lines, fence[1]))
        elif line == "---":  # the words of the search
            _until(lines, "---")
        elif line.startswith("#"):
            yield "heading", line.lstrip("# ")
        elif label:
            file = ""
            named = FILE.search(line)
            if named:
                file = f"{named[1]}.py:"
        elif line.strip():
            paragraph.append(line.strip())


def _paragraph(gathered: list[str]) -> tuple[str, str]:
    text = " ".join(gathered)
    marker = ITEM.match(text)
    if marker:
        return "item", text[marker.end() :]
    return "paragraph", text


def _until(lines: Iterator[str], end: str) -> list[str]:
    """Take lines up to one that is a mark, which is taken, too."""
    return list(takewhile(lambda line: line != end, lines))


def _in_language(parts: Sequence[tuple[str, str]], language: str) -> Iterator[tuple[str, str]]:
    """Yield the parts that a terminal shows, of outputs those in the reader's language."""
    for number, (kind, text) in enumerate(parts):
        if kind in ("heading", "paragraph", "item", "caption"):
            yield kind, text
            continue
        following = [kind for kind, _text in parts[number + 1 : number + 2]]
        if kind == CHINESE:
            if language == "zh":
                yield "output", text
        elif language == "zh" and following == [CHINESE]:  # the same in English
            continue
        elif kind == "text" or kind.startswith("{output}"):
            yield "output", text
        elif not kind.startswith("{"):
            yield "code", text


def _plain(text: str, language: str) -> str:
    """Return a text without the marks of links and roles.

    A page of the site, or a section of one, is its address, if that is known, else its file; the
    page of a problem is the command for it.
    """

    def named(role: re.Match[str]) -> str:
        before, kind, name, after = role.groups()
        shown = TARGET.match(name)
        if shown:
            return f"{before}{shown[1]}{after}"
        if kind != "doc":
            return f"{before}{name}{after}"
        name = name.removeprefix("/")
        problem = name.removeprefix("problems/")
        if problem in PROBLEMS:
            return _instead(role, f"`lifespec explain {problem}`")
        return _instead(role, _place(name, "", language))

    def section(link: re.Match[str]) -> str:
        return _instead(link, _place(link[2], link[3], language))

    def linked(link: re.Match[str]) -> str:
        text, address = link.groups()
        if not address.startswith("http"):
            return text
        return f"{text} ({address})" if language == "en" else f"{text}（{address}）"

    return ROLE.sub(named, SECTION.sub(section, LINK.sub(linked, text)))


def _place(name: str, section: str, language: str) -> str:
    """Return where a page is, or a section of it."""
    if base():
        return f"{site(language)}{name}.html{section}"
    return f"docs/{name}.md{section}"


def _instead(link: re.Match[str], place: str) -> str:
    """Return a place with the spaces that the marks of a title in Chinese have stood for."""
    if not link[1]:
        return place
    before, after = link.string[: link.start()], link.string[link.end() :]
    if before[-1:].isalnum():
        place = f" {place}"
    if after[:1].isalnum():
        place = f"{place} "
    return place
