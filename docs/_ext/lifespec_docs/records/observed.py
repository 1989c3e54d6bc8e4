"""What the suite observed, in the language of the page.

A record holds the sentences as the suite wrote them, in English.  `OBSERVED` has their patterns,
which the catalog translates: %s stands for a name, a number, a text that somebody printed, or one
of `ENDINGS`.  A sentence that follows none of them stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENDINGS", "OBSERVED", "translated"]

# How a process ended, within a sentence or as one
ENDINGS = (
    "the process was still there %s s later",
    "the process ended with status %s after %s s",
    "the process ended with status %s",
    "the process ended by signal %s after %s s",
)
OBSERVED = (
    "%s request came after startup.failed; %s.",
    "%s request came before startup was answered.",
    "%s requests came before startup was answered.",
    "%s lifespans, %s process that served.",
    "A request had no state.",
    "A request had the state itself, not a copy.",
    "A task that the application had left behind received %s.",
    "A test client or adapter gets no signal.",
    "A test client or adapter listens on no port.",
    "A test client or adapter runs in one process.",
    "A test client is not told to stop while it starts.",
    (
        "After shutdown had come, clients could connect, as the socket still listened; a request"
        " was not answered."
    ),
    "At shutdown the state was %s.",
    "Each request has a lifespan of its own, which ends with it.",
    "It could not be told to stop; %s.",
    "It did not come.",
    "It found the port in use before it called the application.",
    "It has no port of its own.",
    "It is not in the output.",
    "It raised to the caller: %s",
    "It was not served; %s.",
    "KeyError: the server reads the message.",
    "Not run: the command has no {workers}, and --workers was not given.",
    "Requests had the state itself, and have changed it.",
    "Shutdown came %s times; %s.",
    'Step %s, "%s", was not reached. The application has not come so far: the last of it is "%s".',
    "The application was not served; %s.",
    "The caller makes the requests and decides when they end.",
    "The caller waits for the response before it ends the lifespan.",
    "The port is the broker's: the server listens on none.",
    "The scope has the asgi None.",
    "The server calls the application with no lifespan scope: no lifespan took place.",
    "The server offers no state.",
    "The servers that use it copy the state.",
    "asgi is %s.",
    "send has raised %s",
    "send has returned. It raised to the caller: %s",
    "send has returned.",
)


def translated(sentence: str, translate: Callable[[str], str]) -> str:
    """Return a sentence in the language of the page, "" if it follows no known pattern."""
    for pattern in OBSERVED:
        if found := _regex(pattern).fullmatch(sentence):
            return _filled(pattern, found, translate)
    ending = _ending(sentence[:1].lower() + sentence[1:-1], translate)
    return translate("%s.") % (ending[:1].upper() + ending[1:]) if ending else ""


def _ending(part: str, translate: Callable[[str], str]) -> str:
    for pattern in ENDINGS:
        if found := _regex(pattern).fullmatch(part):
            return _filled(pattern, found, translate)
    return ""


def _filled(pattern: str, found: re.Match[str], translate: Callable[[str], str]) -> str:
    parts = (_ending(part, translate) or part for part in found.groups())
    return translate(pattern) % tuple(parts)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace("%s", "(.+?)"))
