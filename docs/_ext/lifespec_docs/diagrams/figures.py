"""Pictures that are drawn for a page, their words in the page's language: `{picture}` with a name.

What follows from our tables or from a recorded conversation is drawn by `drawing`; these
two show what stands around it.
"""

from collections.abc import Callable
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.words import mark as _
from lifespec_docs.diagrams.drawing import DASHED, FAINT, HEADS, MONO, Drawing
from lifespec_docs.i18n.messages import words

Translate = Callable[[str], str]

__all__ = ["PICTURES", "Picture", "protocol", "setup", "workers"]

SMALL = ' font-size="12"'
BOLD = ' font-weight="600"'
WIDTH = 376
LEFT, RIGHT = 66, 310  # of the protocol: where the server stands, and the application
LIFE = (_("startup"), _("requests"), _("shutdown"))
PROTOCOL = _("The application is called, asked to start, serves, and is asked to stop.")
WORKERS = _("Each event loop that serves has a lifespan, in a process or in a thread of its own.")
CAPTIONS = {"protocol": PROTOCOL, "workers": WORKERS}  # below the picture, and for a screen reader


def protocol(translate: Translate) -> str:
    """Draw the whole of the protocol: a call, two questions, two answers, and requests between."""
    drawing = Drawing(WIDTH, 318)
    for x, name in ((LEFT, _("server")), (RIGHT, _("application"))):
        _box(drawing, (x - 56, 3), (112, 30), translate(name))
        drawing.line(f"M{x} 33V318", FAINT)
    _arrow(drawing, 62, translate("call"), SMALL)
    _arrow(drawing, 94, "lifespan.startup")
    _arrow(drawing, 126, "lifespan.startup.complete", back=True)
    _box(drawing, (LEFT - 14, 140), (RIGHT - LEFT + 28, 62), "", DASHED)
    drawing.text((LEFT + RIGHT) / 2, 159, translate("requests"), SMALL + BOLD)
    drawing.text((LEFT + RIGHT) / 2, 176, translate("each with a copy of the state"), SMALL)
    drawing.line(f"M{LEFT} 190H{RIGHT - 3}M{RIGHT - 3} 190{HEADS['right']}")
    _arrow(drawing, 236, "lifespan.shutdown")
    _arrow(drawing, 268, "lifespan.shutdown.complete", back=True)
    _arrow(drawing, 300, translate("return"), SMALL + DASHED, back=True)
    drawing.line(f"M{RIGHT - 3} 62h6V300h-6z")
    return drawing.svg(translate("The protocol"), [translate(PROTOCOL)])


def _arrow(
    drawing: Drawing, y: int, label: str, style: str = f"{MONO}{SMALL}", *, back: bool = False
) -> None:
    """Add an arrow at this height, to the application or back, its label above."""
    dashes = DASHED if style.endswith(DASHED) else ""
    start, end, head = (RIGHT - 3, LEFT, "left") if back else (LEFT, RIGHT - 3, "right")
    drawing.line(f"M{start} {y}H{end}", dashes)
    drawing.line(f"M{end} {y}{HEADS[head]}")
    drawing.text((LEFT + RIGHT) / 2, y - 7, label, style.removesuffix(DASHED))


def workers(translate: Translate) -> str:
    """Draw who has a lifespan: each event loop that serves, and no parent."""
    drawing = Drawing(WIDTH, 414)
    _box(drawing, (88, 3), (200, 48), "", FAINT)
    drawing.text(WIDTH / 2, 23, translate("parent process"), SMALL + BOLD)
    drawing.text(WIDTH / 2, 41, translate("serves nothing: no startup"), SMALL)
    for number, x in ((1, 3), (2, 195)):
        drawing.line(f"M{WIDTH / 2:g} 51C{WIDTH / 2:g} 70 {x + 89} 60 {x + 89} 82", DASHED)
        _box(drawing, (x, 82), (178, 138), "", FAINT)
        drawing.text(x + 89, 102, translate("worker process %s") % number, SMALL + BOLD)
        _loop(drawing, (x + 14, 112), translate)
    _box(drawing, (3, 244), (370, 160), "", FAINT)
    drawing.text(WIDTH / 2, 264, translate("one process, two threads"), SMALL + BOLD)
    for number, x in ((1, 3), (2, 195)):
        drawing.text(x + 89, 286, translate("thread %s") % number, SMALL)
        _loop(drawing, (x + 14, 296), translate)
    return drawing.svg(translate("Who has a lifespan"), [translate(WORKERS)])


def _loop(drawing: Drawing, corner: tuple[int, int], translate: Translate) -> None:
    """Add an event loop that serves, and what happens in it, from top to bottom."""
    x, y = corner
    _box(drawing, corner, (150, 98), "")
    drawing.text(x + 75, y + 19, translate("event loop"), SMALL)
    for number, word in enumerate(LIFE):
        drawing.text(x + 75, y + 43 + 22 * number, translate(word), SMALL)
    drawing.line(f"M{x + 30} {y + 34}V{y + 90}M{x + 30} {y + 90}{HEADS['down']}")


def _box(
    drawing: Drawing, corner: tuple[float, float], size: tuple[int, int], name: str, edge: str = ""
) -> None:
    (x, y), (width, height) = corner, size
    place = f'x="{x:g}" y="{y:g}" width="{width}" height="{height}"'
    drawing.lines.append(f'<rect {place} rx="7"{edge}/>')
    if name:
        drawing.text(x + width / 2, y + height / 2 + 4.5, name)


PICTURES: dict[str, Callable[[Translate], str]] = {"protocol": protocol, "workers": workers}


class Picture(SphinxDirective):
    """One picture, by its name in PICTURES."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the drawing and its caption."""
        name = self.arguments[0]
        if name not in PICTURES:
            known = " and ".join(PICTURES)
            raise self.error(f"There is no picture {name!r}: there are {known}.")
        translate = words(self.env)
        caption = f"<figcaption>{escape(translate(CAPTIONS[name]))}</figcaption>"
        html = f'<figure class="states">{PICTURES[name](translate)}{caption}</figure>'
        return [nodes.raw("", html, format="html", classes=["no-search"])]


def setup(app: Sphinx) -> None:
    """Register `{picture}`."""
    app.add_directive("picture", Picture)
