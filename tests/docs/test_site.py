"""The site as it is written: each page of both languages is read once, for all that it shall be."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

NAME = "a2wsgi, to WSGI and back"  # of a record
# What is in a sentence, and in no list of names.
ENGLISH = re.compile(
    r"\b(the|a|an|of|is|are|was|and|or|to|in|with|not|no|for|by|after)\b", re.IGNORECASE
)
CHINESE = re.compile("[\u3400-\u9fff]")
MISSET = re.compile(r"[，。：；！？] ?[,.]|[\u3400-\u9fff],|\.\.\.$")
VERSION = re.compile(r"\d+\.\d+\.\d+.*\d{4}-\d\d-\d\d.*0BSD")
MOVED = 'http-equiv="refresh"'  # of an old address
ALL = "../framework-compatibility.html"


def navigation(name: str, page: BeautifulSoup) -> Iterator[str]:
    """Yield what is wrong: it is folded but for the group that has the page, or the table to it.

    FastAPI is in a group and in a table; the search, in none.
    """
    tree = page.find(class_="sidebar-tree")
    groups = tree.find_all("details", recursive=False) if tree else []
    unfolded = [group for group in groups if group.has_attr("open")]
    links = {str(link["href"]) for group in unfolded for link in group.find_all("a")}
    found = len(unfolded), way_up(page) in links
    wanted = 1 + name.endswith("/fastapi.html"), True
    if len(groups) != 9 or (found != wanted and not name.endswith("/search.html")):
        yield f"of {len(groups)} groups so many are unfolded, and whether it is in one: {found}"


def way_up(page: BeautifulSoup) -> str:
    """Return where the link above the title leads, "#" without one."""
    above = page.find(class_="breadcrumb")
    return str(above.a["href"]) if above and above.a else "#"


def surroundings(name: str, page: BeautifulSoup) -> Iterator[str]:
    """Yield what lacks: both languages, a policy that is the first, one title, a foot, a way up."""
    languages = {str(link["hreflang"]) for link in page.find_all("link", hreflang=True)}
    if languages != {"en", "zh-CN", "x-default"}:
        yield f"names the languages {languages}"
    first = page.head.find(name=True)  # type: ignore[union-attr]
    foot = page.find(class_="colophon")
    if first is None or first.get("http-equiv") != "Content-Security-Policy":
        yield "its policy is not the first in the head"
    if len(page.find_all("h1")) != 1:
        yield "has not one heading of the first rank"
    if foot is None or not VERSION.search(foot.get_text(" ", strip=True)):
        yield "its foot lacks version, date or license"
    if any(each.text.startswith("| ") for each in page.find_all("p")):
        yield "a table is drawn as paragraphs: its template has a blank line between rows"
    if "/frameworks/" in name:
        parent = page.find_all(class_="current-page")[-1].a
        if not (parent and way_up(page) == parent["href"] == ALL):
            yield "the way up is not above its title and in the navigation"


def language(name: str, page: BeautifulSoup) -> Iterator[str]:
    """Yield what is in the other language; code is no text, and a Chinese text has Chinese."""
    chinese = name.startswith("zh-cn/")
    described = [str(each["content"]) for each in page.find_all("meta", {"name": "description"})]
    if name.endswith("/search.html") != (not described):
        yield "has no description"
    for text in described:
        if bool(CHINESE.search(text)) != chinese:
            yield f"its description is in the other language: {text}"
        if chinese and MISSET.search(text):
            yield f"its description is not set as Chinese: {text}"
    if not chinese:
        return
    if name == "zh-cn/index.html" and not CHINESE.search(page.title.text):  # type: ignore[union-attr]
        yield "its title has no Chinese"
    labels = [str(each["aria-label"]) for each in page.find_all(attrs={"aria-label": True})]
    for code in page.select("code, pre, svg, script, style, .sig, [lang=en]"):
        code.decompose()
    texts = page.find_all(["p", "li", "dd", "tr", "summary", "figcaption", "h1", "h2", "h3"])
    for text in [*labels, *(each.get_text(" ", strip=True) for each in texts)]:
        if ENGLISH.search(text.replace(NAME, "")) and not CHINESE.search(text):
            yield f"is not Chinese: {text}"


@cache
def target(site: Path, folder: Path, path: str) -> str:
    """Return which file of the site a link in a folder leads to, "" if there is none."""
    file = (folder / path).resolve()
    return file.relative_to(site.resolve()).as_posix() if file.exists() else ""


@pytest.mark.timeout(600)
def test_each_page_is_whole(site: Path) -> None:
    """Its links lead somewhere, its anchors are those of the other language, and the facts hold."""
    ids, links, sections = dict[str, set[str]](), dict[str, list[str]](), dict[str, list[str]]()
    following, titles = dict[str, list[str]](), dict[str, str]()
    wrong, descriptions = list[str](), Counter[str]()
    for path in sorted(site.glob("*/**/*.html")):
        name = path.relative_to(site).as_posix()
        text = path.read_text("utf-8")
        page = BeautifulSoup(text, "html.parser")
        found = Counter(str(each["id"]) for each in page.find_all(id=True))
        wrong += [f"{name}: has the ID {each} twice" for each in found if found[each] > 1]
        ids[name] = {*found}
        sections[name] = [str(each["id"]) for each in page.find_all("section", id=True)]
        links[name] = [str(each["href"]) for each in page.find_all(["a", "link"], href=True)]
        titles[name] = page.h1.get_text().casefold()  # type: ignore[union-attr]
        if MOVED in text:
            continue  # an old address: its link is what it has
        following[name] = [str(each["href"]) for each in page.find_all("a", class_="next-page")]
        described = page.find_all("meta", {"name": "description"})
        descriptions.update(str(each["content"]) for each in described)
        for fact in navigation, surroundings, language:  # the last changes the page
            wrong += [f"{name}: {fault}" for fault in fact(name, page)]
    wrong += [f"{n} pages have the description {text}" for text, n in descriptions.items() if n > 1]
    for name in sections:
        if sections[name] != sections[re.sub("^en/", "zh-cn/", name)]:
            wrong.append(f"{name}: the Chinese page has other anchors")
        for parts in (each for each in map(urlsplit, links[name]) if not each.scheme):
            place = target(site, (site / name).parent, parts.path) if parts.path else name
            fragment = unquote(parts.fragment)
            if not place or (fragment and fragment not in ids.get(place, ())):
                wrong.append(f"{name}: leads nowhere: {parts.geturl()}")
    for folder in "en/frameworks/", "zh-cn/frameworks/":
        ordered = sorted((each for each in ids if folder in each), key=titles.__getitem__)
        chain = [[each.removeprefix(folder)] for each in ordered[1:]] + [[]]
        if chain != [following[each] for each in ordered]:
            wrong.append(f"{folder}: its pages do not follow in the order of their titles")
    assert len(ids) > 100
    assert wrong == []
