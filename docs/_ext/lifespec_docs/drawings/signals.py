"""The figure of signals: who sends one, and which processes of a server get it."""

from collections.abc import Callable, Sequence

from lifespec_docs.drawings.svg import DASHED, FAINT, HEADS, SMALL, Drawing
from lifespec_docs.words import mark as _

Translate = Callable[[str], str]

WIDTH, PANEL = 376, 158  # of the figure, and the height of each of its parts
BOX, TOP, HEIGHT = 108, 66, 34  # width of a process, where it begins below its part, and its height
PLACES = 3, 133, 263  # of the parent and of two workers
TITLE = _("Who gets a stop signal")
CAPTION = _(
    "A solid arrow is the signal itself. The dashed one is how the parent ends its workers, which"
    " each server does in its own way. When the time is over, SIGKILL follows: to all processes"
    " from Docker and with control-group and mixed, to the parent alone with process."
)
PARTS = (  # who sends it, in two lines, and how many processes get it
    ((_("Ctrl-C in a terminal"), "SIGINT", "KillMode=control-group", "SIGTERM"), 3),
    ((_("docker stop, Kubernetes, kill"), "SIGTERM", "KillMode=mixed, process", "SIGTERM"), 1),
)
DESCRIPTION = _(
    "Ctrl-C in a terminal, and systemd with KillMode=control-group, send the signal to the parent"
    " and to each worker; docker stop, Kubernetes, kill, and systemd with KillMode=mixed or process"
    " send it to the parent alone, which ends its workers."
)


def signals(translate: Translate) -> tuple[str, str]:
    """Draw a part for each set of processes that gets a signal."""
    drawing = Drawing(WIDTH, PANEL * len(PARTS) - 16)
    for number, (senders, reached) in enumerate(PARTS):
        _part(drawing, PANEL * number, senders, reached, translate)
    return drawing.svg(translate(TITLE), translate(DESCRIPTION)), translate(CAPTION)


def _part(
    drawing: Drawing, y: int, senders: Sequence[str], reached: int, translate: Translate
) -> None:
    """Add who sends a signal, an arrow to each process that gets it, and the dashed one."""
    people, its_signal, unit, of_unit = senders
    drawing.text(PLACES[0], y + 14, f"{translate(people)}: {its_signal}", SMALL, "start")
    drawing.text(PLACES[0], y + 32, f"systemd, {unit}: {of_unit}", SMALL, "start")
    names = [translate(_("parent")), *(translate(_("worker %s")) % number for number in (1, 2))]
    middles = [place + BOX / 2 for place in PLACES]
    top, bottom = y + TOP, y + TOP + HEIGHT
    if reached > 1:
        drawing.line(f"M{middles[0]:g} {top - 18}H{middles[reached - 1]:g}")
    for number, (place, middle) in enumerate(zip(PLACES, middles, strict=True)):
        drawing.box(place, top, BOX, HEIGHT, "" if number < reached else FAINT)
        drawing.text(middle, top + 22, names[number], SMALL)
        if number < reached:
            start = top - 26 if number == 0 else top - 18
            drawing.line(f"M{middle:g} {start}V{top - 2}M{middle:g} {top - 2}{HEADS['down']}")
    drawing.line(f"M{middles[0]:g} {bottom}v18H{middles[2]:g}", DASHED)
    for middle in middles[1:]:
        drawing.line(f"M{middle:g} {bottom + 18}V{bottom + 2}", DASHED)
        drawing.line(f"M{middle:g} {bottom + 2}m-3.5 6 3.5-6 3.5 6")
