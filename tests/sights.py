"""The server of the guide, and what was observed of a server in a case, in a few words."""

import sys
from pathlib import Path
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.log import Line, Log
from lifespec.conformance.server.client import Answer
from lifespec.conformance.server.play import Observation

SERVE = Path(__file__).parents[1] / "docs" / "programs" / "serve.py"
SERVER = (sys.executable, str(SERVE), "{app}", "--port", "{port}")  # the server of the guide
CASES = {case.name: case for case in cases.load()}


def line(text: str, time: float, /, **facts: Any) -> Line:
    """Return a line of the probe from `kind type  key=value`; a value is a number or a word."""
    words = text.split("  ")
    kind, _, type_ = words[0].partition(" ")
    row: dict[str, Any] = {"side": "application", "call": 1, "event": {}}
    row |= {"pid": 1, "thread": 1, "loop": 1}
    row |= {"path": "/", "call": 9} if type_ == "http" else {}
    row |= {"error": "ValueError"} if kind == "refused" else {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        row[key] = int(value) if value.isdigit() else value
    return Line(time, kind, type_, **row | facts)


def saw(case: str, *lines: str | Line, **facts: Any) -> Observation:
    """Return what was observed in a case: a line for each second from 1.0 on."""
    rows = [
        line(each, time) if isinstance(each, str) else each._replace(time=each.time or time)
        for time, each in enumerate(lines, 1)
    ]
    return Observation(CASES[case], log=Log(rows), **facts)


def answered(*paths: str, sent: float = 50.0, **body: Any) -> list[Answer]:
    """Return answers to requests; there is none to a path with a question mark."""
    return [Answer(path, sent, None if path.endswith("?") else body) for path in paths]
