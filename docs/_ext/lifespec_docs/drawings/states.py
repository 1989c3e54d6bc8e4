"""The state diagram: the phases of a lifespan and the transitions between them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lifespec.validate import TRANSITIONS, Step
from lifespec_docs.drawings.svg import DASHED, HEADS, MONO, Drawing
from lifespec_docs.words import mark as _

Translate = Callable[[str], str]

TITLE = _("The phases of a lifespan and the transitions between them")
WAY, AND = _("%s → %s: %s."), _(", ")
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
# The path of each transition, the point and direction of its arrow, and the place of its label.
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
SMALL, RING = ' font-size="11"', "a3.5 3.5 0 1 1-.01 0"


def states(translate: Translate) -> tuple[str, str]:
    """Return the diagram, which has no caption."""
    return drawn(TRANSITIONS, translate), ""


def drawn(transitions: Mapping[Any, Mapping[str, Step]], translate: Translate) -> str:
    """Draw each change of state that breaks no rule; raise ValueError for one without a place."""
    drawing = Drawing(360, 540)
    for state in transitions:
        if state not in PLACES:
            raise ValueError(f"The state diagram has no place for the state {state!r}.")
        x, y = PLACES[state]
        drawing.box(x - WIDE, y - HIGH, 2 * WIDE, 2 * HIGH, f' data-state="{state}"')
        drawing.text(x, y + 4.5, translate(state))
    edges = _edges(transitions)
    for (start, end), labels in edges.items():
        if (start, end) in WAYS:
            _way(drawing, (start, end), labels, translate)
        elif end == "gone" and labels == ENDS:
            x, y = PLACES[start]
            drawing.line(f"M{x + WIDE - 12} {y + HIGH}v4{RING}", f' data-step="{start} gone"')
        else:
            raise ValueError(f"The state diagram has no way from {start!r} to {end!r}.")
    if any(edge not in WAYS for edge in edges):
        _bundle(drawing, translate)
    drawing.text(MIDDLE, 532, translate(PREFIX), f'{SMALL} opacity=".75"')
    return drawing.svg(translate(TITLE), " ".join(_sentences(edges, translate)))


def _edges(transitions: Mapping[Any, Mapping[str, Step]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return by pair of states the triggers that lead from one to another one and break no rule."""
    edges: dict[tuple[str, str], tuple[str, ...]] = {}
    for state, row in transitions.items():
        for trigger, step in row.items():
            if not step.rule and step.to != state:
                edges[state, step.to] = (*edges.get((state, step.to), ()), trigger)
    return edges


def _sentences(
    edges: Mapping[tuple[str, str], Sequence[str]], translate: Translate
) -> Iterator[str]:
    for (start, end), labels in edges.items():
        yield translate(WAY) % (translate(start), translate(end), translate(AND).join(labels))


def _way(
    drawing: Drawing, edge: tuple[str, str], labels: Sequence[str], translate: Translate
) -> None:
    """Add a transition that has a path of its own."""
    way, end, head, (x, y, anchor) = WAYS[edge]
    drawing.line(way, f'{DASHED if edge[1] == "gone" else ""} data-step="{edge[0]} {edge[1]}"')
    drawing.line(end + HEADS[head])
    lines, font = [label.removeprefix("lifespan.") for label in labels], MONO
    if edge[0] == edge[1]:
        lines, font = [translate(NOTHING)], ""
    for number, line in enumerate(lines):
        drawing.text(x, y + 14 * number, line, f"{font}{SMALL}", anchor)


def _bundle(drawing: Drawing, translate: Translate) -> None:
    """Add the path from all marked states to `gone`."""
    x, y = PLACES["gone"]
    drawing.line(f"M{x + WIDE + 28} {y}h-28", DASHED)
    drawing.line(f"M{x + WIDE} {y}{HEADS['left']}")
    drawing.line(f"M{x + WIDE + 31.5} {y - 3.5}{RING}")
    drawing.text(x + WIDE + 42, y - 3, ", ".join(ENDS), f"{MONO}{SMALL}", "start")
    drawing.text(x + WIDE + 42, y + 12, translate(BUNDLE), SMALL, "start")
