"""The event log below an example, as HTML: each lifespan as a drawing and as a list."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from lifespec.testing.trace import Entry
from lifespec_docs.diagrams import drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lifespec_docs.diagrams.drawing import Translate

__all__ = ["event_log", "is_usual"]

# The folders of the machine that built the page, in a traceback that an application sent.
FOLDERS = re.compile(r'(?<=File ")/[^"]*/(?=[^"/]+/[^"/]+")')
USUAL = [
    Entry(0.0, "called", "lifespan"),
    Entry(0.0, "received", "lifespan.startup"),
    Entry(0.0, "sent", "lifespan.startup.complete"),
    Entry(0.0, "received", "lifespan.shutdown"),
    Entry(0.0, "sent", "lifespan.shutdown.complete"),
    Entry(0.0, "returned"),
]


def is_usual(conversations: Sequence[list[Entry]]) -> bool:
    """Whether each lifespan took the course that the front page draws, and nothing took time."""
    return all(entries == USUAL for entries in conversations)


def event_log(conversations: Sequence[list[Entry]], translate: Translate) -> str:
    """Return an element that unfolds, or "" if no lifespan was recorded."""
    heading = translate("Lifespan %s")
    spoken = [[*map(_without_folders, entries)] for entries in conversations if entries]
    if not spoken:
        return ""
    parts = [f"<details class='said'><summary>{_summary(spoken, translate)}</summary>"]
    for number, entries in enumerate(spoken, 1):
        if len(spoken) > 1:
            parts.append(f"<p class='head'>{escape(heading % number)}</p>")
        steps = "".join(f"<li>{escape(step)}</li>" for step in drawing.steps(entries, translate))
        parts += [drawing.sequence(entries, translate), f"<ol>{steps}</ol>"]
    return "".join(parts) + "</details>"


def _without_folders(entry: Entry) -> Entry:
    return replace(entry, detail=FOLDERS.sub("", entry.detail))


def _summary(conversations: Sequence[list[Entry]], translate: Translate) -> str:
    said = translate("%s entries") % sum(map(len, conversations))
    if seconds := max(entries[-1].time for entries in conversations):
        said = translate("%s in %s s") % (said, f"{seconds:g}")
    if len(conversations) > 1:
        said = translate("%s lifespans, %s") % (len(conversations), said)
    return escape(translate("Event log: %s") % said)
