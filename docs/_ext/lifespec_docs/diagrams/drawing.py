"""Draws what was said as a sequence diagram, and the table of steps as a state diagram.

A drawing is one inline `<svg>` in the colour of the text around it, without ids. Words go
through `translate`, a function from the English strings to those of the page's language; names
of events and classes are shown as they are.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.testing.trace import Entry
    from lifespec.validate import State, Step

    Translate = Callable[[str], str]

__all__ = ["sequence", "states", "steps"]

STEPS = {  # kind: the sentence, and the one with a detail
    "called": (_("The server calls the application with the scope %s."), ""),
    "received": (_("The application receives %s."), ""),
    "sent": (_("The application sends %s."), _("The application sends %s: %s")),
    "refused": (_("The server refuses %s."), _("The server refuses %s: %s")),
    "raised": (_("The application raises %s."), _("The application raises %s: %s")),
    "returned": (_("The application returns."), ""),
    "cancelled": (_("The application ends, because it was cancelled."), ""),
}
AT = _("At %s s: %s")
SECONDS, WAY, AND = _("%s s"), _("%s → %s: %s."), _(", ")
TALK = _("Messages between server and application")
TABLE = _("The phases of a lifespan and the transitions between them")
BUNDLE, NOTHING = _("wherever marked"), _("send does nothing")
PREFIX = _("Events without “lifespan.”")
LEFT, MIDDLE, RIGHT = 58, 180, 302
PLACES: dict[str, tuple[int, int]] = {
    _("called"): (MIDDLE, 24),
    _("starting"): (MIDDLE, 112),
    _("early"): (LEFT, 112),
    _("running"): (MIDDLE, 200),
    _("refused"): (RIGHT, 200),
    _("failing"): (RIGHT, 312),
    _("stopping"): (MIDDLE, 312),
    _("stopped"): (MIDDLE, 400),
    _("gone"): (MIDDLE, 488),
}
WIDE, HIGH = 44, 15  # half of a state's box
# The way of each step, its last point and direction, and the place of its label.
WAYS: dict[tuple[str, str], tuple[str, str, str, tuple[int, int, str]]] = {
    ("called", "early"): ("M136 24H66q-8 0-8 8V97", "M58 97", "down", (130, 17, "end")),
    ("called", "starting"): ("M180 39V97", "M180 97", "down", (187, 72, "start")),
    ("called", "refused"): ("M224 24H306q8 0 8 8V185", "M314 185", "down", (230, 17, "start")),
    ("starting", "refused"): ("M224 112H282q8 0 8 8V185", "M290 185", "down", (284, 154, "end")),
    ("starting", "running"): ("M180 127V185", "M180 185", "down", (173, 160, "end")),
    ("early", "running"): ("M58 127V192q0 8 8 8H136", "M136 200", "right", (68, 193, "start")),
    ("early", "failing"): (
        "M42 127V264q0 8 8 8H282q8 0 8 8V297",
        "M290 297",
        "down",
        (50, 265, "start"),
    ),
    ("running", "failing"): (
        "M206 215v4q0 8 8 8H306q8 0 8 8V297",
        "M314 297",
        "down",
        (308, 241, "end"),
    ),
    ("running", "stopping"): ("M180 215V297", "M180 297", "down", (187, 260, "start")),
    ("stopping", "stopped"): ("M180 327V385", "M180 385", "down", (187, 353, "start")),
    ("stopped", "gone"): ("M180 415V473", "M180 473", "down", (187, 448, "start")),
    ("gone", "gone"): ("M136 483c-32-12-32 22 0 10", "M136 493", "loop", (106, 484, "end")),
}
ENDS = ("raise", "return")
MONO = ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"'
HEADS = {
    "down": "m-3.5-6 3.5 6 3.5-6",
    "right": "m-6-3.5 6 3.5-6 3.5",
    "left": "m6-3.5-6 3.5 6 3.5",
    "loop": "m-6.5-1.5 6.5 1.5-4.5 5",
}
RING = "a3.5 3.5 0 1 1-.01 0"
CROSS = "m-4-4 8 8m0-8-8 8"
DASHED, FAINT = ' stroke-dasharray="3 4"', ' stroke-opacity=".5"'
LINES, ENDINGS = 6, ("returned", "raised", "cancelled")  # LINES of a detail


@dataclass
class Drawing:
    """Lines and texts, in pixels; a text's y is its baseline."""

    width: float
    height: float = 0.0
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def line(self, way: str, extra: str = "") -> None:
        """Add a path."""
        self.lines.append(f'<path d="{way}"{extra}/>')

    def text(self, x: float, y: float, words: str, extra: str = "", anchor: str = "middle") -> None:
        """Add a text."""
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.texts.append(f"<text {place}{extra}>{_shown(words)}</text>")

    def svg(self, label: str, description: Iterable[str]) -> str:
        """Return the whole; label and description are for those who do not see it."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        style = f"width:{self.width / 16:g}rem;max-width:100%;height:auto;overflow:visible"
        pen = 'fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"'
            f' aria-label="{_shown(label)}" style="{style}" font-size="13">'
            f"<desc>{_shown(' '.join(description))}</desc>"
            f'<g {pen} transform="translate(.5 .5)">{"".join(self.lines)}</g>'
            f'<g fill="currentColor">{"".join(self.texts)}</g></svg>'
        )


def _shown(text: str) -> str:
    return escape("".join(char if char.isprintable() else " " for char in text))


def _width(text: str, size: float, latin: float = 0.61) -> float:
    """Return about how wide a text is; a Latin letter has the width of a mono one."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return size * (wide + latin * (len(text) - wide))


def _wrapped(text: str, room: float, size: float) -> list[str]:
    """Break a text into lines, after words or between Chinese characters; LINES at most."""
    latin = 0.54  # on average, where the font is not mono
    wide = "\u2e80-\ufeff\uff01-\uff60"
    pieces = rf"\s*[{wide}]|\s*[^\s{wide}]{{1,{int(room / size / latin)}}}"
    lines = [""]
    for piece in re.findall(pieces, text):
        if lines[-1] and _width(lines[-1] + piece, size, latin) > room:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [*lines[: LINES - 1], f"{lines[LINES - 1]} …"] if len(lines) > LINES else lines


def steps(entries: Sequence[Entry], translate: Translate = str) -> list[str]:
    """Return a sentence for each entry."""
    return [_step(entry, translate) for entry in entries]


def _detail(entry: Entry) -> str:
    """Return the detail; of a traceback its last line, as the others name files of this machine."""
    traceback = entry.detail.startswith("Traceback (most recent call last):")
    return entry.detail.rstrip().splitlines()[-1] if traceback else entry.detail


def _step(entry: Entry, translate: Translate) -> str:
    plain, detailed = STEPS[entry.kind]
    if detailed and entry.detail:
        said = translate(detailed) % (entry.type, _detail(entry))
    else:
        said = translate(plain)
        said = said % entry.type if "%s" in said else said
    return translate(AT) % (f"{entry.time:g}", said) if entry.time else said


def sequence(entries: Sequence[Entry], translate: Translate = str) -> str:
    """Return the conversation as an arrow for each entry, with the times at which it went on."""
    names = [translate("server"), translate("application")]
    times = list(_times(entries, translate))
    labels = [_width(_label(entry, translate), 12) for entry in entries]
    halves = [round(_width(name, 13) / 2) + 9 for name in names]
    left = round(max([halves[0] + 2, *(_width(time, 11) + 12 for time in times if time)]))
    right = left + round(max([232, *(label + 36 for label in labels)]))
    drawing = Drawing(right + halves[1] + 2, 33)
    marks = []
    for entry, time in zip(entries, times, strict=True):
        drawing.height += 10 * bool(time)  # time passes
        marks.append(drawing.height + 20)
        drawing.text(left - 8, marks[-1] + 4, time, ' font-size="11" opacity=".75"', "end")
        _arrow(drawing, entry, (left, right), translate)
    drawing.height += 12
    drawing.line(f"M{left} 33V{drawing.height:g}", FAINT)
    _lifeline(drawing, right, entries, marks)
    for x, name, half in zip((left, right), names, halves, strict=True):
        _box(drawing, (x, 18), half, name)
    return drawing.svg(translate(TALK), steps(entries, translate))


def _times(entries: Sequence[Entry], translate: Translate) -> Iterator[str]:
    """Yield the time of each entry, or nothing where it is that of the entry before."""
    before = 0.0
    for entry in entries:
        yield translate(SECONDS) % f"{entry.time:g}" if entry.time != before else ""
        before = entry.time


def _label(entry: Entry, translate: Translate) -> str:
    words = {"called": _("call"), "returned": _("return"), "cancelled": _("cancelled")}
    return translate(words[entry.kind]) if entry.kind in words else entry.type


def _arrow(drawing: Drawing, entry: Entry, ends: tuple[int, int], translate: Translate) -> None:
    """Add an entry's arrow, its label above and its detail below."""
    (left, right), y = ends, drawing.height + 20
    a, b = left, right - 3
    dashes = DASHED if entry.kind in ENDINGS else ""
    if entry.kind in ("called", "received", "cancelled"):
        drawing.line(f"M{a} {y:g}H{b}", dashes)
        drawing.line(f"M{b} {y:g}{HEADS['right']}")
    elif entry.kind == "refused":
        drawing.line(f"M{b} {y:g}H{a + 22}")
        drawing.line(f"M{a + 12} {y:g}{CROSS}")
    else:
        drawing.line(f"M{b} {y:g}H{a}", dashes)
        drawing.line(f"M{a} {y:g}{HEADS['left']}")
    font = "" if entry.kind in ("called", "returned", "cancelled") else MONO
    middle = (left + right) / 2
    drawing.text(middle, y - 6, _label(entry, translate), f'{font} font-size="12"')
    details = _wrapped(_detail(entry), right - left - 28, 11.5) if entry.detail else []
    for number, line in enumerate(details, 1):
        drawing.text(middle, y + 15 * number, line, ' font-size="11.5" opacity=".8"')
    drawing.height = y + 12 + 15 * len(details)


def _lifeline(drawing: Drawing, x: int, entries: Sequence[Entry], marks: Sequence[float]) -> None:
    """Add the application's line: a bar from its call to its end."""
    ends = [mark for entry, mark in zip(entries, marks, strict=True) if entry.kind in ENDINGS]
    top = marks[0] if marks else 33
    end = ends[-1] if ends else drawing.height
    drawing.line(f"M{x} 33V{top:g}M{x} {end:g}V{drawing.height:g}", FAINT + DASHED)
    drawing.line(f"M{x - 3} {top:g}h6V{end:g}h-6z")
    if any(entry.kind in ("raised", "cancelled") for entry in entries):
        drawing.line(f"M{x} {end + 9:g}{CROSS}")


def _box(drawing: Drawing, middle: tuple[int, int], half: float, name: str, edge: str = "") -> None:
    x, y = middle
    corner = f'x="{x - half:g}" y="{y - HIGH}" width="{2 * half:g}" height="{2 * HIGH}"'
    drawing.lines.append(f'<rect {corner} rx="7"{edge}/>')
    drawing.text(x, y + 4.5, name)


def states(transitions: Mapping[State, Mapping[str, Step]], translate: Translate = str) -> str:
    """Return the state diagram with every step that breaks no rule.

    ValueError where the drawing has no place for a state or no way for a step.
    """
    drawing = Drawing(360, 540)
    for state in transitions:
        if state not in PLACES:
            raise ValueError(f"The state diagram has no place for the state {state!r}.")
        _box(drawing, PLACES[state], WIDE, translate(state), f' data-state="{state}"')
    edges = _edges(transitions)
    for (start, end), labels in edges.items():
        if (start, end) in WAYS:
            _way(drawing, (start, end), labels, translate)
        elif end == "gone" and labels == ENDS:
            _port(drawing, *PLACES[start], f' data-step="{start} gone"')
        else:
            raise ValueError(f"The state diagram has no way from {start!r} to {end!r}.")
    if any(edge not in WAYS for edge in edges):
        _bundle(drawing, translate)
    drawing.text(MIDDLE, 532, translate(PREFIX), ' font-size="11" opacity=".75"')
    return drawing.svg(translate(TABLE), _told(edges, translate))


def _edges(transitions: Mapping[Any, Mapping[str, Step]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return what leads from a state to a state without breaking a rule."""
    edges: dict[tuple[str, str], tuple[str, ...]] = {}
    for state, row in transitions.items():
        for happening, step in row.items():
            if not step.rule:
                edges[state, step.to] = (*edges.get((state, step.to), ()), happening)
    return edges


def _told(edges: Mapping[tuple[str, str], Sequence[str]], translate: Translate) -> Iterator[str]:
    for (start, end), labels in edges.items():
        yield translate(WAY) % (translate(start), translate(end), translate(AND).join(labels))


def _way(
    drawing: Drawing, edge: tuple[str, str], labels: Sequence[str], translate: Translate
) -> None:
    """Add a step that has a way of its own."""
    way, end, head, (x, y, anchor) = WAYS[edge]
    dashes = DASHED if edge[1] == "gone" else ""
    drawing.line(way, f'{dashes} data-step="{edge[0]} {edge[1]}"')
    drawing.line(end + HEADS[head])
    lines, font = [label.removeprefix("lifespan.") for label in labels], MONO
    if edge[0] == edge[1]:
        lines, font = _wrapped(translate(NOTHING), x - 4, 11), ""
    for number, line in enumerate(lines):
        drawing.text(x, y + 14 * number, line, f'{font} font-size="11"', anchor)


def _port(drawing: Drawing, x: int, y: int, extra: str) -> None:
    """Add the mark of a state that ends in `gone` by raising or returning."""
    drawing.line(f"M{x + WIDE - 12} {y + HIGH}v4{RING}", extra)


def _bundle(drawing: Drawing, translate: Translate) -> None:
    """Add the way from all these marks to `gone`."""
    x, y = PLACES["gone"]
    drawing.line(f"M{x + WIDE + 28} {y}h-28", DASHED)
    drawing.line(f"M{x + WIDE} {y}{HEADS['left']}")
    drawing.line(f"M{x + WIDE + 31.5} {y - 3.5}{RING}")
    drawing.text(x + WIDE + 42, y - 3, ", ".join(ENDS), f'{MONO} font-size="11"', "start")
    drawing.text(x + WIDE + 42, y + 12, translate(BUNDLE), ' font-size="11"', "start")
