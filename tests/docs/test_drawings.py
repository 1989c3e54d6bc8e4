"""Pictures: every word translated, nothing beyond the edge, no text over another."""

import re
from collections.abc import Callable
from io import BytesIO
from itertools import combinations
from unicodedata import east_asian_width
from xml.etree import ElementTree as ET

import pytest
from babel.messages.pofile import read_po

from lifespec.validate import TRANSITIONS
from lifespec_docs.drawings import PICTURES
from lifespec_docs.words import ROOT, catalogs

SVG = "{http://www.w3.org/2000/svg}"
WORDS = {
    entry.id: entry.string
    for path in catalogs("zh_CN")
    for entry in read_po(BytesIO(path.read_bytes()))
}


def chinese(text: str) -> str:
    """Translate a word; raise KeyError for one that no catalog has."""
    return str(WORDS[text])


def boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Return about where each text of a drawing is: left, top, right, bottom."""
    found = []
    for each in ET.fromstring(svg).iter(f"{SVG}text"):
        text, size = each.text or "", float(each.get("font-size", 13))
        latin = 0.61 if each.get("font-family") else 0.54
        wide = sum(size * (1 if east_asian_width(char) in "WF" else latin) for char in text)
        share = {"start": 0, "middle": 0.5, "end": 1}[each.get("text-anchor", "")]
        left, base = float(each.get("x", "")) - wide * share, float(each.get("y", ""))
        found.append((text, left, base - size * 0.8, left + wide, base + size * 0.2))
    return found


@pytest.mark.parametrize("translate", [str, chinese])
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fits_its_frame_and_a_phone(name: str, translate: Callable[[str], str]) -> None:
    svg, _caption = PICTURES[name](translate)
    root = ET.fromstring(svg)
    width, height = (float(number) for number in root.get("viewBox", "").split()[2:])
    assert width <= 376
    assert " id=" not in svg
    assert set(re.findall(r'(?:stroke|fill)="(.*?)"', svg)) <= {"currentColor", "none"}
    assert root.get("aria-label")
    assert root.findtext(f"{SVG}desc")
    for text, left, top, right, bottom in boxes(svg):
        assert -4 <= left < right <= width + 1, text
        assert 0 <= top < bottom <= height, text
    for a, b in combinations(boxes(svg), 2):
        assert a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] or b[4] <= a[2], (a, b)


def test_each_change_of_state_that_breaks_no_rule_is_drawn() -> None:
    svg, _caption = PICTURES["states"](str)
    steps = {
        (state, step.to) for state, row in TRANSITIONS.items() for step in row.values()
        if not step.rule and step.to != state
    }  # fmt: skip
    assert {tuple(each.split()) for each in re.findall(r'data-step="(.*?)"', svg)} == steps


def test_each_picture_stands_on_a_page() -> None:
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert {*re.findall(r"^```\{picture\} (\w+)$", pages, re.MULTILINE)} == {*PICTURES}
