"""Figures: one lifespan, which processes and threads have one, and how a server ends."""

from collections.abc import Callable

from lifespec_docs.drawings.svg import DASHED, FAINT, HEADS, MONO, SMALL, Drawing
from lifespec_docs.words import mark as _

Translate = Callable[[str], str]

BOLD = ' font-weight="600"'
WIDTH = 376
LEFT, RIGHT = 66, 310  # of the protocol: where the server stands, and the application
LIFE = (_("startup"), _("requests"), _("shutdown"))
PROTOCOL = _("The application is called, asked to start, serves, and is asked to stop.")
WORKERS = _("Each event loop that serves has a lifespan, in a process or in a thread of its own.")
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
LANES = (  # the label of a bar, where it ends, and where its last part begins
    (_("New connections: accepted until the signal"), SIGNAL, None),
    (_("Idle connections: closed at once"), SIGNAL, None),
    (_("Open requests: answered, or cancelled at a timeout"), OFFERED, SIGNAL),
    (_("The application: cleans up when the last is closed"), ANSWERED, OFFERED),
    (_("The process: ends when shutdown is answered"), EXIT, ANSWERED),
)
LINE, LANE, BAR = 19, 46, 13
PALE, DARK = (f' fill="currentColor" fill-opacity="{opacity}"' for opacity in (0.1, 0.35))
DOTTED = ' stroke-dasharray="3 3"'


def protocol(translate: Translate) -> tuple[str, str]:
    """Draw the whole protocol: a call, two events, their answers, and the requests between."""
    drawing = Drawing(WIDTH, 318)
    for x, name in ((LEFT, _("server")), (RIGHT, _("application"))):
        drawing.box(x - 56, 3, 112, 30)
        drawing.text(x, 22.5, translate(name))
        drawing.line(f"M{x} 33V318", FAINT)
    _arrow(drawing, 62, translate(_("call")), "")
    _arrow(drawing, 94, "lifespan.startup")
    _arrow(drawing, 126, "lifespan.startup.complete", back=True)
    drawing.box(LEFT - 14, 140, RIGHT - LEFT + 28, 62, DASHED)
    drawing.text((LEFT + RIGHT) / 2, 159, translate(_("requests")), SMALL + BOLD)
    drawing.text((LEFT + RIGHT) / 2, 176, translate(_("each with a copy of the state")), SMALL)
    drawing.line(f"M{LEFT} 190H{RIGHT - 3}M{RIGHT - 3} 190{HEADS['right']}")
    _arrow(drawing, 236, "lifespan.shutdown")
    _arrow(drawing, 268, "lifespan.shutdown.complete", back=True)
    _arrow(drawing, 300, translate(_("return")), "", DASHED, back=True)
    drawing.line(f"M{RIGHT - 3} 62h6V300h-6z")
    caption = translate(PROTOCOL)
    return drawing.svg(translate(_("The protocol")), caption), caption


def _arrow(
    drawing: Drawing, y: int, label: str, font: str = MONO, dashes: str = "", *, back: bool = False
) -> None:
    """Add an arrow at this height, to the application or back, its label above."""
    start, end, head = (RIGHT - 3, LEFT, "left") if back else (LEFT, RIGHT - 3, "right")
    drawing.line(f"M{start} {y}H{end}", dashes)
    drawing.line(f"M{end} {y}{HEADS[head]}")
    drawing.text((LEFT + RIGHT) / 2, y - 7, label, font + SMALL)


def workers(translate: Translate) -> tuple[str, str]:
    """Draw who has a lifespan: each event loop that serves, and no parent."""
    drawing = Drawing(WIDTH, 414)
    drawing.box(88, 3, 200, 48, FAINT)
    drawing.text(WIDTH / 2, 23, translate(_("parent process")), SMALL + BOLD)
    drawing.text(WIDTH / 2, 41, translate(_("serves nothing: no startup")), SMALL)
    for number, x in ((1, 3), (2, 195)):
        drawing.line(f"M{WIDTH / 2:g} 51C{WIDTH / 2:g} 70 {x + 89} 60 {x + 89} 82", DASHED)
        drawing.box(x, 82, 178, 138, FAINT)
        drawing.text(x + 89, 102, translate(_("worker process %s")) % number, SMALL + BOLD)
        _loop(drawing, (x + 14, 112), translate)
    drawing.box(3, 244, 370, 160, FAINT)
    drawing.text(WIDTH / 2, 264, translate(_("one process, two threads")), SMALL + BOLD)
    for number, x in ((1, 3), (2, 195)):
        drawing.text(x + 89, 286, translate(_("thread %s")) % number, SMALL)
        _loop(drawing, (x + 14, 296), translate)
    caption = translate(WORKERS)
    return drawing.svg(translate(_("Who has a lifespan")), caption), caption


def _loop(drawing: Drawing, corner: tuple[int, int], translate: Translate) -> None:
    """Add an event loop that serves, and what happens in it, from top to bottom."""
    x, y = corner
    drawing.box(x, y, 150, 98)
    drawing.text(x + 75, y + 19, translate(_("event loop")), SMALL)
    for number, word in enumerate(LIFE):
        drawing.text(x + 75, y + 43 + 22 * number, translate(word), SMALL)
    drawing.line(f"M{x + 30} {y + 34}V{y + 90}M{x + 30} {y + 90}{HEADS['down']}")


def timeline(translate: Translate) -> tuple[str, str]:
    """Draw a bar for each lane, and for each mark a line that crosses the bars and no text."""
    top = LINE * len(MARKS)
    drawing = Drawing(352, top + LANE * len(LANES) - 8)
    for number, (x, text, named) in enumerate(reversed(MARKS)):
        label, font = (text, MONO) if named else (translate(text), "")
        drawing.text(x - 5, LINE * number + 13, label, f"{font}{SMALL}", "end")
        bars = (f"M{x} {top + LANE * lane + 20}v{BAR + 8}" for lane in range(len(LANES)))
        drawing.line(f"M{x} {LINE * number + 3}V{top + 1}{''.join(bars)}", DOTTED)
    for number, (text, end, last) in enumerate(LANES):
        y = top + LANE * number
        drawing.text(0, y + 17, translate(text), SMALL, "start")
        drawing.line(_bar(0, end, y + 24), PALE)
        if last:
            drawing.line(_bar(last, end, y + 24), DARK)
    description = "; ".join(translate(text) for text, _end, _last in LANES)
    return drawing.svg(translate(TITLE), description), translate(CAPTION)


def _bar(start: int, end: int, y: int) -> str:
    return f"M{start} {y}H{end}v{BAR}H{start}z"
