"""The sentences of the facts in records, in the language of the page."""

from collections.abc import Callable
from typing import Any

from lifespec.diagnosis.fact import Fact
from lifespec.words import Words
from lifespec_docs.words import mark as _

OWN = {  # of kinds that only records have: why a case or a rule does not apply
    "no-signal": _("A test client or adapter gets no signal."),
    "not-told-to-stop": _("A test client is not told to stop while it starts."),
    "no-port": _("A test client or adapter listens on no port."),
    "one-process": _("A test client or adapter runs in one process."),
    "no-connections": _("A test client or adapter has no connections."),
    "waits-for-response": _("The caller waits for the response before it ends the lifespan."),
    "makes-requests": _("The caller makes the requests and decides when they end."),
    "lifespan-a-request": _("Each request has a lifespan of its own, which ends with it."),
    "no-port-of-its-own": _("It has no port of its own."),
    "port-of-the-broker": _("The port is the broker's: the server listens on none."),
    "state-copied-by-servers": _("The servers that use it copy the state."),
}


def sentence(observed: dict[str, Any], language: str, translate: Callable[[str], str]) -> str:
    """Return the sentence of a fact of a record; `translate` has the words of pages."""
    if observed["kind"] in OWN:
        return str(translate(OWN[observed["kind"]]))
    return Words(language.partition("_")[0]).say(_fact(observed))


def _fact(value: Any) -> Any:
    """Return a fact, or a part of one, from what JSON holds."""
    if isinstance(value, list):
        return tuple(map(_fact, value))
    if not isinstance(value, dict):
        return value
    kind, *parts = value.items()
    return Fact(kind[1], {name: _fact(part) for name, part in parts})


TABLES: dict[str, Any] = {}
