"""What is drawn, and how it reads where nobody sees it."""

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lifespec import validate
from lifespec.testing.trace import Entry
from lifespec.validate import Step
from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import marked

SVG = "{http://www.w3.org/2000/svg}"
CALLED = Entry(0.0, "called", "lifespan")
STARTUP = Entry(0.0, "received", "lifespan.startup")
COMPLETE = [
    CALLED,
    STARTUP,
    Entry(2.0, "sent", "lifespan.startup.complete"),
    Entry(3602.0, "received", "lifespan.shutdown"),
    Entry(3602.0, "sent", "lifespan.shutdown.complete"),
    Entry(3602.0, "returned"),
]
REFUSED = [
    CALLED,
    STARTUP,
    Entry(0.0, "refused", "lifespan.startup.ready", "This is no event [events-known]."),
    Entry(10.25, "sent", "lifespan.startup.failed", "no database at the other end of the wire"),
    Entry(10.25, "raised", "RuntimeError", "数据库连接失败无法在三十秒之内连上服务器请检查网络"),
    Entry(10.25, "refused", "None"),
    Entry(11.0, "sent", "lifespan.startup.complete"),
]
DECLINED = [CALLED, Entry(0.0, "raised", "AssertionError")]
CANCELLED = [CALLED, STARTUP, Entry(10.0, "cancelled")]
OPEN = [CALLED, STARTUP]
TALKS = [COMPLETE, REFUSED, DECLINED, CANCELLED, OPEN, []]


def listed(text: str) -> str:
    """Translate as a catalog would that knows no word: with KeyError for what is not marked."""
    return {word: word for word in marked("diagrams/drawing.py")}[text]


def chinese(text: str) -> str:
    """Put a Chinese character for each other letter of a listed label."""
    return re.sub(r"(?<!%)[a-z][a-z ]", "字", listed(text))


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [each.text for each in drawn(svg).iter(f"{SVG}text") if each.text]


def boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Return about where each text is: left, top, right, bottom."""
    found = []
    for each in drawn(svg).iter(f"{SVG}text"):
        size = float(each.get("font-size", 13))
        wide = drawing._width(each.text or "", size, 0.61 if each.get("font-family") else 0.54)
        share = {"start": 0, "middle": 0.5, "end": 1}[each.get("text-anchor", "")]
        left, base = float(each.get("x", "")) - wide * share, float(each.get("y", ""))
        found.append((each.text or "", left, base - size * 0.8, left + wide, base + size * 0.2))
    return [box for box in found if box[0]]


DRAWINGS: list[Callable[[Any], str]] = [
    *(lambda translate, talk=talk: drawing.sequence(talk, translate) for talk in TALKS),
    lambda translate: drawing.states(validate.TRANSITIONS, translate),
]


@pytest.mark.parametrize("translate", [listed, chinese])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_every_drawing(draw: Callable[[Any], str], translate: Callable[[str], str]) -> None:
    """A drawing has its text's colour, no ids, a label and a description; nothing sticks out."""
    svg = draw(translate)
    root = drawn(svg)
    assert set(re.findall(r'(?:stroke|fill)="(.*?)"', svg)) <= {"currentColor", "none"}
    assert " id=" not in svg
    assert root.get("role") == "img"
    assert root.get("aria-label") in {translate(drawing.TALK), translate(drawing.TABLE)}
    assert root.find(f"{SVG}desc") is not None
    _, _, width, height = (float(number) for number in root.get("viewBox", "").split())
    for text, left, top, right, bottom in boxes(svg):
        assert left >= -1, text
        assert right <= width + 1, text
        assert 0 <= top < bottom <= height, text


@pytest.mark.parametrize("translate", [listed, chinese])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_no_overlap(draw: Callable[[Any], str], translate: Callable[[str], str]) -> None:
    for a, b in combinations(boxes(draw(translate)), 2):
        apart = a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] or b[4] <= a[2]
        assert apart, (a, b)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_width(draw: Callable[[Any], str]) -> None:
    """Our usual drawings fit a page of 400 pixels unscaled."""
    assert float(drawn(draw(listed)).get("viewBox", "").split()[2]) <= 364


def test_strange_text() -> None:
    svg = drawing.sequence([Entry(0.0, "refused", "<b>&\x00", "\x1b[1m\n\"'\ud800")])
    assert [text.strip() for text in texts(svg)[:2]] == ["<b>&", "[1m \"'"]


def test_step_with_percent() -> None:
    entry = Entry(0.0, "raised", "ValueError", "100 %s")
    assert drawing.steps([entry]) == ["The application raises ValueError: 100 %s"]


def noted(svg: str, name: str) -> list[str]:
    """Return what is marked so in a drawing."""
    return re.findall(rf'data-{name}="(.*?)"', svg)


def test_breaking_steps() -> None:
    table = {"called": {"raise": Step("gone", "some-rule")}, "gone": {}}
    assert noted(drawing.states(table), "step") == []


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"asleep": {}}, "The state diagram has no place for the state 'asleep'."),
        (
            {"called": {"lifespan.shutdown": Step("stopping")}},
            "The state diagram has no way from 'called' to 'stopping'.",
        ),
        (
            {"called": {"raise": Step("gone")}},
            "The state diagram has no way from 'called' to 'gone'.",
        ),
    ],
)
def test_unknown(table: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        drawing.states(table)
