"""What is drawn, and how it reads where nobody sees it."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from lifespec import validate
from lifespec.testing.trace import Entry
from lifespec.validate import Step
from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import marked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

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
    """Parse a drawing."""
    return ET.fromstring(svg)


def texts(svg: str) -> list[str]:
    """Return the texts of a drawing, in order."""
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
    """No text touches another."""
    for a, b in combinations(boxes(draw(translate)), 2):
        apart = a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] or b[4] <= a[2]
        assert apart, (a, b)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_width(draw: Callable[[Any], str]) -> None:
    """Our usual drawings fit a page of 400 pixels unscaled."""
    assert float(drawn(draw(listed)).get("viewBox", "").split()[2]) <= 364


def test_sequence() -> None:
    """A conversation shows each event, and each time at which something new happened."""
    assert texts(drawing.sequence(COMPLETE)) == [
        "call",
        "lifespan.startup",
        "2 s",
        "lifespan.startup.complete",
        "3602 s",
        "lifespan.shutdown",
        "lifespan.shutdown.complete",
        "return",
        "server",
        "application",
    ]


def test_details() -> None:
    """Messages, sentences and exceptions stand below their arrows, in lines."""
    shown = texts(drawing.sequence(REFUSED))
    assert shown[3:7] == [
        "This is no event [events-known].",
        "10.25 s",
        "lifespan.startup.failed",
        "no database at the other end of",
    ]
    assert "".join(shown[9:11]) == REFUSED[4].detail


def test_marks() -> None:
    """What the server refused, and an application that did not end by itself, are crossed."""
    assert [drawing.sequence(talk).count(drawing.CROSS) for talk in TALKS] == [0, 3, 1, 1, 0, 0]


def test_arrows() -> None:
    """Each arrow points to whom it reaches; what was refused reaches nobody."""
    svg = drawing.sequence(REFUSED)
    heads = {side: svg.count(drawing.HEADS[side]) for side in ("left", "right")}
    assert heads == {"left": 3, "right": 2}


def test_bar() -> None:
    """The application's bar ends where its call ended, or with the drawing."""
    for talk, height in ((DECLINED, 32), (OPEN, 56)):
        (bar,) = re.findall(r'd="M\d+ (\d+)h6V(\d+)h-6z"', drawing.sequence(talk))
        assert int(bar[1]) - int(bar[0]) == height


def test_long_label() -> None:
    """A drawing is as wide as its longest label needs."""
    talk = [CALLED, Entry(0.0, "refused", "事件" * 40)]
    assert float(drawn(drawing.sequence(talk)).get("viewBox", "").split()[2]) > 80 * 12


def test_strange_text() -> None:
    """What an application says is text, whatever it is."""
    svg = drawing.sequence([Entry(0.0, "refused", "<b>&\x00", "\x1b[1m\n\"'\ud800")])
    assert [text.strip() for text in texts(svg)[:2]] == ["<b>&", "[1m \"'"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("一二三四五六七", ["一二三四", "五六七"]),
        ("abcdefghijklmnopqr", ["abcdefgh", "ijklmnop", "qr"]),
        ("1 " * 100, ["1 1 1 1", "1 1 1 1", "1 1 1 1", "1 1 1 1", "1 1 1 1", "1 1 1 1 …"]),
    ],
)
def test_wrapped(text: str, lines: list[str]) -> None:
    """Text breaks after words or between Chinese characters, and where it must; it may end."""
    assert drawing._wrapped(text, 45, 10) == lines


def test_steps() -> None:
    """Each entry is a sentence."""
    assert drawing.steps(COMPLETE, listed) == [
        "The server calls the application with the scope lifespan.",
        "The application receives lifespan.startup.",
        "At 2 s: The application sends lifespan.startup.complete.",
        "At 3602 s: The application receives lifespan.shutdown.",
        "At 3602 s: The application sends lifespan.shutdown.complete.",
        "At 3602 s: The application returns.",
    ]
    assert drawing.steps([*REFUSED[2:4], REFUSED[5], *DECLINED[1:], CANCELLED[2]], listed) == [
        "The server refuses lifespan.startup.ready: This is no event [events-known].",
        (
            "At 10.25 s: The application sends lifespan.startup.failed:"
            " no database at the other end of the wire"
        ),
        "At 10.25 s: The server refuses None.",
        "The application raises AssertionError.",
        "At 10 s: The application ends, because it was cancelled.",
    ]


def test_traceback() -> None:
    """Of a message that is a traceback, as frameworks send, only the last line is shown."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/srv/shop.py", line 7',
        "OSError: no db",
    ]
    failed = Entry(0.0, "sent", "lifespan.startup.failed", "\n".join([*lines, ""]))
    assert drawing.steps([failed]) == [
        "The application sends lifespan.startup.failed: OSError: no db"
    ]
    drawn = drawing.sequence([failed])
    assert ("OSError: no db" in drawn, "shop.py" in drawn) == (True, False)


def test_step_with_percent() -> None:
    """A percent sign in what was said is a percent sign."""
    entry = Entry(0.0, "raised", "ValueError", "100 %s")
    assert drawing.steps([entry]) == ["The application raises ValueError: 100 %s"]


def legal(transitions: Any) -> set[str]:
    """Return the pairs of states that a step joins which breaks no rule."""
    return {
        f"{state} {step.to}"
        for state, row in transitions.items()
        for step in row.values()
        if not step.rule
    }


def noted(svg: str, name: str) -> list[str]:
    """Return what is marked so in a drawing."""
    return re.findall(rf'data-{name}="(.*?)"', svg)


def test_states() -> None:
    """The state diagram has every state and every step that breaks no rule, and no other."""
    svg = drawing.states(validate.TRANSITIONS)
    assert sorted(noted(svg, "state")) == sorted(validate.STATES)
    assert sorted(noted(svg, "step")) == sorted(legal(validate.TRANSITIONS))


@pytest.mark.parametrize("gone", validate.STATES)
def test_state_removed(gone: str) -> None:
    """What the table does not have is not drawn."""
    table = {
        state: {name: step for name, step in row.items() if step.to != gone}
        for state, row in validate.TRANSITIONS.items()
        if state != gone
    }
    svg = drawing.states(table)
    assert gone not in noted(svg, "state")
    assert sorted(noted(svg, "step")) == sorted(legal(table))
    assert ("wherever marked" in svg) == (gone != "gone")


def test_labels_of_steps() -> None:
    """A way carries what leads along it."""
    shown = texts(drawing.states(validate.TRANSITIONS))
    assert shown.count("startup.failed") == 2
    assert "\n".join(shown).count("shutdown.complete\nshutdown.failed") == 1
    assert shown[-1] == drawing.PREFIX


def test_description_of_states() -> None:
    """The description says the same in words, with whole names."""
    description = drawn(drawing.states(validate.TRANSITIONS)).findtext(f"{SVG}desc") or ""
    assert (
        "stopping → stopped: lifespan.shutdown.complete, lifespan.shutdown.failed." in description
    )


def test_breaking_steps() -> None:
    """A step that breaks a rule is not drawn, wherever it leads."""
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
    """A table that the drawing has no room for is refused with a sentence."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        drawing.states(table)
