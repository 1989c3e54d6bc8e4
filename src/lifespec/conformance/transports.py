"""How the suite checks what follows a specification: over HTTP and in Python, if no row differs."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Transport", "transport"]


class Transport(NamedTuple):
    """The type of the requests beside a lifespan, whether the suite can send some, the language."""

    request: Literal["http", "message"] = "http"
    sent: bool = True
    language: Literal["python", "perl"] = "python"


_OTHERS = {
    "amgi 1.0": Transport("message", sent=False),
    "amgi 2.0": Transport("message"),
    "pagi 0.3": Transport(language="perl"),
}


def transport(spec: str) -> Transport:
    """Return the transport of a specification, a key of SPECS."""
    return _OTHERS.get(spec, Transport())
