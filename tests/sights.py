"""The server of the guide, and what was observed of a server in a case, in a few words."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.log import Log, LogLine
from lifespec.conformance.server.client import Reply
from lifespec.conformance.server.play import ServerObservation
from lifespec.diagnosis.fact import Fact

SERVE = Path(__file__).parents[1] / "docs" / "programs" / "serve.py"
SERVER = (sys.executable, str(SERVE), "{app}", "--port", "{port}")  # the server of the guide
CASES = {case.name: case for case in cases.load()}


WORDS = {  # of the sequences below
    "started": "called, startup, complete, sent lifespan.startup.complete",
    "called": "called lifespan",
    "startup": "received lifespan.startup",
    "complete": "sends lifespan.startup.complete",
    "failed": "sends lifespan.startup.failed",
    "shutdown": "received lifespan.shutdown",
    "answer": "sends lifespan.shutdown.complete",
    "answered": "sent lifespan.shutdown.complete",
    "returned": "returned lifespan",
    "raised": "raised lifespan",
    "cancelled": "cancelled lifespan",
    "request": "called http",
    "lifecycle": "called lifecycle",
}


def line(text: str, time: float = 0, /, **facts: Any) -> LogLine:
    """Return a line of the probe from `kind type key=value`; a value is a number or a word."""
    words = [each for each in text.split() if "=" not in each]
    kind, type_ = [*words, ""][:2]
    row: dict[str, Any] = {"side": "application", "call": 1, "event": {}}
    row |= {"pid": 1, "thread": 1, "loop": 1}
    row |= {"path": "/", "call": 9} if type_ == "http" else {}
    row |= {"error": "ValueError"} if kind == "refused" else {}
    for word in text.split()[len(words) :]:
        key, _, value = word.partition("=")
        row[key] = int(value) if value.isdigit() else value
    return LogLine(time, kind, type_, **row | facts)


def lines(text: str) -> Iterator[LogLine]:
    """Yield the lines of a sequence, such as `started, request, shutdown by=child`."""
    for each in filter(None, text.split(", ")):
        name, _, facts = each.partition(" ")
        if name in WORDS and ("=" in facts or not facts):
            yield from (line(f"{whole} {facts}") for whole in _whole(name))
        else:
            yield line(each)


def _whole(name: str) -> Iterator[str]:
    for each in WORDS[name].split(", "):
        yield from _whole(each) if each in WORDS else [each]


def saw(case: str, *sequence: str | LogLine, **facts: Any) -> ServerObservation:
    """Return what was observed in a case: a line for each second from 1.0 on."""
    rows = (
        row for each in sequence for row in ([each] if isinstance(each, LogLine) else lines(each))
    )
    log = Log(row._replace(time=row.time or time) for time, row in enumerate(rows, 1))
    return ServerObservation(CASES[case], log=log, **facts)


def answered(*paths: str, sent: float = 50.0, **body: Any) -> list[Reply]:
    """Return answers to requests; there is none to a path with a question mark."""
    return [Reply(path, sent, None if path.endswith("?") else body) for path in paths]


def in_words(observed: Fact) -> Iterator[str]:
    """Yield the kind of a fact, and its parts as `name=value`: of a fact in it, the kind."""
    yield observed.kind
    for name, part in observed.parts.items():
        value = part.kind if isinstance(part, Fact) else part
        yield f"{name}={','.join(value) if name == 'events' else value}"
