"""What each page of the built site tells machines: description, policy, no script of its own."""

import re
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from lifespec_docs.theme.metadata import POLICY

LANGUAGES = ("en", "zh-cn")


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, BeautifulSoup]:
    """Return all pages, both languages and those of no language."""
    return {
        path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in sorted(site.rglob("*.html"))
        if "simple" not in path.parts  # for pip
    }


def test_every_page_has_the_policy_before_all_else(pages: dict[str, BeautifulSoup]) -> None:
    """A policy holds for what follows it."""
    for name, page in pages.items():
        first = page.select_one("head > *")
        assert first is not None
        assert first.get("http-equiv") == "Content-Security-Policy", name
        assert first["content"] == POLICY, name


def test_no_page_has_an_inline_script(pages: dict[str, BeautifulSoup]) -> None:
    """Neither an element nor an attribute; the policy would stop it."""
    scripts = {name: page.select("script:not([src])") for name, page in pages.items()}
    assert {name: found for name, found in scripts.items() if found} == {}
    handlers = [
        f"{name}: {key}"
        for name, page in pages.items()
        for element in page.select("*")
        for key in element.attrs
        if key.startswith("on")
    ]
    assert handlers == []


@pytest.mark.parametrize("folder", LANGUAGES)
def test_every_page_describes_itself(pages: dict[str, BeautifulSoup], folder: str) -> None:
    """In its language, in other words than every other page, and to those who share it."""
    own = {name: page for name, page in pages.items() if name.startswith(f"{folder}/")}
    own.pop(f"{folder}/search.html")
    found = {}
    for name, page in own.items():
        (description,) = page.select('meta[name="description"]')
        (shared,) = page.select('meta[property="og:description"]')
        (title,) = page.select('meta[property="og:title"]')
        heading = page.select_one("h1")
        assert heading is not None
        assert shared["content"] == description["content"], name
        assert title["content"] == heading.get_text().removesuffix("¶"), name
        found[name] = str(description["content"])
        chinese = bool(re.search(r"[\u3400-\u9fff]", found[name]))
        assert chinese == (folder == "zh-cn"), name
    assert [text for text, count in Counter(found.values()).items() if count > 1] == []
    assert {name: text for name, text in found.items() if not 15 < len(text) < 400} == {}


def test_one_viewport_and_one_heading_of_the_first_rank(pages: dict[str, BeautifulSoup]) -> None:
    for name, page in pages.items():
        assert len(page.select('meta[name="viewport"]')) == 1, name
        assert len(page.select("h1")) == 1, name


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_specification_is_one_file(site: Path, folder: str) -> None:
    """With the ID of every rule that stands in a box of its pages."""
    text = (site / folder / "specification.txt").read_text(encoding="utf-8")
    boxes = BeautifulSoup((site / folder / "startup.html").read_text("utf-8"), "html.parser")
    rules = {str(each["id"]) for each in boxes.select("div.rule[id]:not(.more)")}
    assert len(rules) > 4
    assert [rule for rule in rules if f"\n{rule} · " not in text] == []


def test_llms_names_every_page(site: Path, pages: dict[str, BeautifulSoup]) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if not (site / link).exists()] == []
    of_languages = {name for name in pages if "/" in name and not name.endswith("/search.html")}
    assert of_languages - set(links) == set()


def test_the_foot_names_version_date_and_licence(pages: dict[str, BeautifulSoup]) -> None:
    for name in (name for name in pages if "/" in name):
        foot = pages[name].select_one(".colophon")
        assert foot is not None, name
        assert re.search(r"\d+\.\d+\.\d+.*\d{4}-\d\d-\d\d.*0BSD", foot.get_text(" ", strip=True))
