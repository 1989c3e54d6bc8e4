"""The words in which cases are written: verbs of their scripts, phrases of what is expected."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DOINGS",
    "KEYS",
    "PHRASES",
    "ROLES",
    "SERVER",
    "USUAL",
    "VERBS",
    "Phrase",
    "Role",
    "Verb",
]

Role = Literal["server", "application", "middleware"]
ROLES: tuple[Role, ...] = get_args(Role)


class Verb(NamedTuple):
    """A word of the scripts: what follows it, who is checked where it is used, what is done."""

    form: Literal["", "event", "seconds", "text", "word", "keys"]
    roles: tuple[Role, ...]
    says: str


class Phrase(NamedTuple):
    """What can be expected: whether an argument follows, who is checked, what is to be seen."""

    argument: bool
    roles: tuple[Role, ...]
    says: str


_AS_APPLICATION: tuple[Role, ...] = ("server", "middleware")
_ON_SERVER: tuple[Role, ...] = ("server",)
_AS_SERVER: tuple[Role, ...] = ("application",)

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "receive": Verb("", _AS_APPLICATION, "wait for the next event"),
        "send": Verb("event", _AS_APPLICATION, "send this event"),
        "state": Verb("keys", _AS_APPLICATION, "put these keys into the state"),
        "try": Verb("event", _ON_SERVER, "send this event, and go on whatever comes of it"),
        "converse": Verb("", _ON_SERVER, "answer events as they come, until shutdown is answered"),
        "pause": Verb("", _ON_SERVER, "be at work until told to go on"),
        "listen": Verb(
            "", _ON_SERVER, "let a task of its own wait for an event, which can outlive the call"
        ),
        "later": Verb(
            "event", _ON_SERVER, "let a task of its own send this event when the call is over"
        ),
        "raise": Verb("text", _AS_APPLICATION, "raise an exception with this text"),
        "throw": Verb("word", _ON_SERVER, "raise this exception of Python's, such as SystemExit"),
        "return": Verb("", _AS_APPLICATION, "return"),
        "give": Verb("event", _ON_SERVER, "return this value"),
        "hang": Verb("", _AS_APPLICATION, "wait for ever"),
        "wait": Verb("seconds", ROLES, "wait that many seconds"),
        "call": Verb(
            "keys", _AS_SERVER, "call it with a lifespan scope; false takes a key of it away"
        ),
        "offer": Verb("event", _AS_SERVER, "let it receive this event"),
        "await": Verb("word", _AS_SERVER, "wait until this has happened, or the limit passes"),
        "request": Verb("", _AS_SERVER, "call it for a request, with a copy of the state"),
        "cancel": Verb("", _AS_SERVER, "cancel the call"),
        "loop": Verb("", _AS_SERVER, "close the event loop, and go on in another"),
    }
)

DOINGS: Mapping[str, Verb] = MappingProxyType(
    {
        "request": Verb("word", _ON_SERVER, "request this path until it is answered"),
        "traffic": Verb("", _ON_SERVER, "make requests for a second, answered or not"),
        "open": Verb("word", _ON_SERVER, "request this path, and wait until it is held"),
        "release": Verb("", _ON_SERVER, "let the application answer what it holds"),
        "until": Verb("text", _ON_SERVER, "wait until the application notes this"),
        "go": Verb("", _ON_SERVER, "let the application go on from its pause"),
        "wait": Verb("seconds", _ON_SERVER, "wait that many seconds"),
        "stop": Verb("", _ON_SERVER, "send SIGTERM to the process that was started"),
        "interrupt": Verb("", _ON_SERVER, "send it SIGINT"),
        "knock": Verb("", _ON_SERVER, "try to connect to its port and to be answered"),
        "occupy": Verb("", _ON_SERVER, "listen on its port before it is started"),
        "workers": Verb("", _ON_SERVER, "wait until each worker has called the application"),
    }
)

PHRASES: Mapping[str, Phrase] = MappingProxyType(
    {
        "kept": Phrase(
            argument=False, roles=_AS_SERVER, says="no step of the conversation breaks the rule"
        ),
        "answered": Phrase(
            argument=False, roles=_AS_SERVER, says="it answers, if it supports lifespan"
        ),
        "answers too": Phrase(
            argument=False, roles=_AS_SERVER, says="it answers startup if start-and-stop has that"
        ),
        "as usual": Phrase(
            argument=False, roles=_AS_SERVER, says="it answers both events as in start-and-stop"
        ),
        "raises": Phrase(
            argument=False, roles=_AS_SERVER, says="the call raises, and sends nothing before"
        ),
        "ends": Phrase(
            argument=False, roles=_AS_SERVER, says="the call ends soon after it was cancelled"
        ),
        "no exit": Phrase(
            argument=False, roles=_AS_SERVER, says="it does not end the process of its server"
        ),
        "no raise": Phrase(
            argument=False,
            roles=_AS_SERVER,
            says="it does not raise where it has received startup: it answers with failed",
        ),
        **{
            f"same {what}": Phrase(argument=False, roles=("middleware",), says=says)
            for what, says in (
                ("scope", "the application is called with each key of the server's scope"),
                ("state", "the application has the server's own state, the same object"),
                ("events", "the application receives what the server offers"),
                ("answers", "the server receives what the application sends"),
                ("refusal", "the application sees that the server refuses what it sent"),
                ("end", "the server sees the application's return, or its own exception"),
                ("request", "the application is called for requests, with their state"),
            )
        },
        "lifespan scope": Phrase(
            argument=False, roles=_ON_SERVER, says="the type of the scope is lifespan"
        ),
        "versions": Phrase(
            argument=False, roles=_ON_SERVER, says="the scope names the versions, as text"
        ),
        "worker numbers": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the scope tells workers that they are some, and their numbers",
        ),
        "empty state": Phrase(
            argument=False, roles=_ON_SERVER, says="the state that the scope offers is empty"
        ),
        "namespace": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the state that the scope offers is a mapping that can be changed",
        ),
        "one call": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="each event loop that serves has one call with a lifespan scope",
        ),
        "same loop": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="requests come in the event loop and the thread of the lifespan",
        ),
        "lasts": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the call is there from before the first request until after the last",
        ),
        "startup first": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the first event is lifespan.startup, and it comes once",
        ),
        "startup before requests": Phrase(
            argument=False, roles=_ON_SERVER, says="no request comes before lifespan.startup"
        ),
        "no request before": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="no request comes between lifespan.startup and its answer",
        ),
        "served": Phrase(
            argument=False, roles=_ON_SERVER, says="each request is answered by the application"
        ),
        "not blocked": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the server does not wait for an application that is gone",
        ),
        "survives": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="what send has raised keeps no request from being answered",
        ),
        "not served": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="no request reaches the application after lifespan.startup.failed",
        ),
        "exits": Phrase(argument=False, roles=_ON_SERVER, says="the process ends by itself"),
        "process ends": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the process ends in time when it was told to stop",
        ),
        "gone": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the process ends by itself, or when it was told to stop",
        ),
        "shows": Phrase(argument=True, roles=_ON_SERVER, says="the output has this text"),
        "hides": Phrase(
            argument=True,
            roles=_ON_SERVER,
            says="the process ends, and the output has nothing of this text",
        ),
        "tells": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the output says something of the lifespan or of the exception",
        ),
        "as empty": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="a missing message makes no difference: there is no KeyError",
        ),
        "taken": Phrase(
            argument=False, roles=_ON_SERVER, says="send returns where the script tries it"
        ),
        "refused": Phrase(
            argument=False, roles=_ON_SERVER, says="send raises where the script tries it"
        ),
        "does nothing": Phrase(
            argument=False, roles=_ON_SERVER, says="send returns when the call is over"
        ),
        "quiet": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="no event comes after the call is over, and there is no second call",
        ),
        "shutdown once": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="lifespan.shutdown comes after the signal, once",
        ),
        "no request after": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="no request is there when lifespan.shutdown comes, and none comes afterwards",
        ),
        "no connection after": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="no connection is served while the application handles lifespan.shutdown",
        ),
        "waits": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the process waits for the answer to lifespan.shutdown",
        ),
        "finishes": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the call is not broken off after its last answer",
        ),
        "copies": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="each request has a copy of the state; its values are the same objects",
        ),
        "late key": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="a key that was put into the state while serving comes with later requests",
        ),
        "untouched": Phrase(
            argument=False,
            roles=_ON_SERVER,
            says="the state is as the application left it when lifespan.shutdown comes",
        ),
        "no change": Phrase(
            argument=False, roles=("middleware",), says="the server's own scope stays as it was"
        ),
    }
)

KEYS: Mapping[str, str] = MappingProxyType(
    {
        "role": "the role under test: server, application or middleware",
        "says": "what happens, in one English sentence",
        "script": "what the suite does, line by line",
        "meanwhile": "what the suite does as client and operator; by default request / and stop",
        "workers": "the number of worker processes if it is not 1",
        "expect": "for each rule that is checked, one phrase or several",
        "silent": "for rules: the specifications that say nothing in this case, or true for all",
        "specs": "the specifications that the case is for; the default is all",
        "server": "for middleware, what the suite does as the server; the default is SERVER",
        "real": "true if the case needs real time",
        "needs": "programs that must be installed, otherwise the case is skipped",
    }
)
SERVER = (
    'call hello="world"',
    'offer lifespan.startup hello="world"',
    "await startup",
    "request",
    "wait 0.5",
    'offer lifespan.shutdown hello="world"',
    "await shutdown",
    "await end",
)
USUAL = ("request /", "stop")  # where a case does not say what is done meanwhile
