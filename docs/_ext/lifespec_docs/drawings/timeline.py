"""The timeline: how a server ends, around the stop signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec_docs.drawings.svg import MONO, Drawing
from lifespec_docs.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["timeline"]

TITLE = _("How a server ends, in the order of time")
CAPTION = _(
    "What each part of a server does around the stop signal. The filled end of a bar is the last"
    " step of that part."
)
SIGNAL, OFFERED, ANSWERED, EXIT = 96, 190, 290, 340  # when, in pixels
MARKS = (  # where, what, and whether it is an event of the protocol, which has one name
    (SIGNAL, _("the signal"), False),
    (OFFERED, "lifespan.shutdown", True),
    (ANSWERED, "lifespan.shutdown.complete", True),
)
LANES = (  # what a bar tells, where it ends, and where its last part begins
    (_("New connections: accepted until the signal"), SIGNAL, None),
    (_("Idle connections: closed at once"), SIGNAL, None),
    (_("Open requests: answered, or cancelled at a timeout"), OFFERED, SIGNAL),
    (_("The application: cleans up when the last is closed"), ANSWERED, OFFERED),
    (_("The process: ends when shutdown is answered"), EXIT, ANSWERED),
)
WIDTH, LINE, LANE, BAR = 352, 19, 46, 13
PALE, DARK = (f' fill="currentColor" fill-opacity="{opacity}"' for opacity in (0.1, 0.35))
DASHED = ' stroke-dasharray="3 3"'


def timeline(translate: Callable[[str], str]) -> tuple[str, str]:
    """Draw a bar for each lane, and for each mark a line that crosses the bars and no text."""
    top = LINE * len(MARKS)
    drawing = Drawing(WIDTH, top + LANE * len(LANES) - 8)
    for number, (x, text, named) in enumerate(reversed(MARKS)):
        label, font = (text, MONO) if named else (translate(text), "")
        drawing.text(x - 5, LINE * number + 13, label, f'{font} font-size="12"', "end")
        bars = (f"M{x} {top + LANE * lane + 20}v{BAR + 8}" for lane in range(len(LANES)))
        drawing.line(f"M{x} {LINE * number + 3}V{top + 1}{''.join(bars)}", DASHED)
    for number, (text, end, last) in enumerate(LANES):
        y = top + LANE * number
        drawing.text(0, y + 17, translate(text), ' font-size="12"', "start")
        drawing.line(_bar(0, end, y + 24), PALE)
        if last:
            drawing.line(_bar(last, end, y + 24), DARK)
    told = "; ".join(translate(text) for text, _end, _last in LANES)
    return drawing.svg(translate(TITLE), told), translate(CAPTION)


def _bar(start: int, end: int, y: int) -> str:
    return f"M{start} {y}H{end}v{BAR}H{start}z"
