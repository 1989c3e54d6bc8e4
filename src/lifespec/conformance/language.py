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
        "try": Verb(
            "event", _ON_SERVER, "send this event, and continue whether send raises or not"
        ),
        "converse": Verb("", _ON_SERVER, "answer each event until shutdown is answered"),
        "pause": Verb("", _ON_SERVER, "keep working until the suite says to continue"),
        "listen": Verb(
            "", _ON_SERVER, "start a task that waits for an event and can outlive the call"
        ),
        "later": Verb(
            "event", _ON_SERVER, "start a task that sends this event after the call has ended"
        ),
        "raise": Verb("text", _AS_APPLICATION, "raise an exception with this text"),
        "throw": Verb("word", _ON_SERVER, "raise this built-in exception, such as SystemExit"),
        "return": Verb("", _AS_APPLICATION, "return"),
        "give": Verb("event", _ON_SERVER, "return this value"),
        "hang": Verb("", _AS_APPLICATION, "wait forever"),
        "wait": Verb("seconds", ROLES, "wait that many seconds"),
        "call": Verb(
            "keys", _AS_SERVER, "call it with a lifespan scope; the value false removes a key"
        ),
        "offer": Verb("event", _AS_SERVER, "let it receive this event"),
        "await": Verb("word", _AS_SERVER, "wait until this has happened, or until the timeout"),
        "request": Verb("", _AS_SERVER, "call it for a request, with a copy of the state"),
        "cancel": Verb("", _AS_SERVER, "cancel the call"),
        "loop": Verb("", _AS_SERVER, "close the event loop, and continue in another"),
    }
)

DOINGS: Mapping[str, Verb] = MappingProxyType(
    {
        "request": Verb("word", _ON_SERVER, "request this path until it is answered"),
        "keep": Verb("word", _ON_SERVER, "request this path on a connection that stays open"),
        "websocket": Verb("word", _ON_SERVER, "open a WebSocket for this path, and read a message"),
        "traffic": Verb(
            "", _ON_SERVER, "send requests for a second, whether they are answered or not"
        ),
        "open": Verb(
            "word", _ON_SERVER, "request this path, and wait until the application holds it"
        ),
        "release": Verb("", _ON_SERVER, "let the application answer the requests that it holds"),
        "until": Verb("text", _ON_SERVER, "wait until the application notes this"),
        "go": Verb("", _ON_SERVER, "let the application continue after its pause"),
        "wait": Verb("seconds", _ON_SERVER, "wait that many seconds"),
        "stop": Verb("", _ON_SERVER, "send SIGTERM to the process that was started"),
        "interrupt": Verb("", _ON_SERVER, "send it SIGINT"),
        "knock": Verb("", _ON_SERVER, "connect to its port and send a request, which may fail"),
        "occupy": Verb("", _ON_SERVER, "listen on its port before it is started"),
        "workers": Verb("", _ON_SERVER, "wait until each worker has called the application"),
    }
)

_WITH_ARGUMENT = {"shows", "hides"}


def _phrases(roles: tuple[Role, ...], says: Mapping[str, str]) -> dict[str, Phrase]:
    return {name: Phrase(name in _WITH_ARGUMENT, roles, text) for name, text in says.items()}


PHRASES: Mapping[str, Phrase] = MappingProxyType(
    _phrases(
        _AS_SERVER,
        {
            "kept": "no message of the sequence breaks the rule",
            "answered": "it answers, if it supports lifespan",
            "answers too": "it answers startup if it does so in start-and-stop",
            "as usual": "it answers both events as in start-and-stop",
        },
    )
    | _phrases(
        (*_AS_SERVER, "middleware"),
        {
            "raises": "the call raises without sending an event first",
        },
    )
    | _phrases(
        _AS_SERVER,
        {
            "ends": "the call ends soon after it was cancelled",
            "no exit": "it does not end the process of its server",
            "no raise": "it does not raise after it has received startup, but answers with failed",
        },
    )
    | _phrases(
        ("middleware",),
        {
            "same scope": "the application is called with each key of the server's scope",
            "same state": "what the application puts into its state is in the server's state",
            "same events": "the application receives what the server sends",
            "same answers": "the server receives what the application sends",
            "same refusal": "the application sees the exception that the server's send raises",
            "same end": (
                "the server sees that the application returns, or the exception that it raises"
            ),
            "same request": "the application is called for requests, with their state",
        },
    )
    | _phrases(
        _ON_SERVER,
        {
            "lifespan scope": "the type of the scope is lifespan",
            "versions": "the scope has the versions, as strings",
            "worker numbers": "the scope has is_worker and the number of the worker",
            "empty state": "the state in the scope is empty",
            "namespace": "the state in the scope is a mapping that can be changed",
            "one call": "each event loop that serves requests has one call with a lifespan scope",
            "same loop": "requests run in the event loop and the thread of the lifespan",
            "lasts": "the call lasts from before the first request until after the last",
            "startup first": "the first event is lifespan.startup, and it is sent once",
            "startup before requests": "no request arrives before lifespan.startup",
            "no request before": "no request arrives between lifespan.startup and its answer",
            "served": "each request is answered by the application",
            "not blocked": "the server does not wait for an application that has ended",
            "survives": "requests are answered although send has raised",
            "not served": "no request reaches the application after lifespan.startup.failed",
            "exits": "the process ends by itself",
            "process ends": "the process ends in time after it was told to stop",
            "exit status": "the exit status is not 0, so that a supervisor notices the failure",
            "gone": "the process ends by itself, or after it was told to stop",
            "shows": "the output has this text",
            "hides": "the process ends, and the output does not have this text",
            "tells": "the output mentions the lifespan or the exception",
            "as empty": "a missing message makes no difference: there is no KeyError",
            "taken": "send returns where the script uses try",
            "refused": "send raises where the script uses try",
            "does nothing": "send returns after the call has ended",
            "quiet": "no event arrives after the call has ended, and there is no second call",
            "shutdown once": "lifespan.shutdown is sent after the signal, once",
            "no request after": (
                "no request is in progress at lifespan.shutdown, and none arrives afterwards"
            ),
            "no connection after": (
                "no connection is served while the application handles lifespan.shutdown"
            ),
            "waits": "the process waits for the answer to lifespan.shutdown",
            "finishes": "the call is not cancelled after its final answer",
            "copies": "each request has a copy of the state; its values are the same objects",
            "late key": "a key that is added to the state while serving is in later requests",
            "untouched": "at lifespan.shutdown, the state is as the application left it",
        },
    )
    | _phrases(
        ("middleware",),
        {
            "no change": "the server's own scope stays as it was",
        },
    )
)

KEYS: Mapping[str, str] = MappingProxyType(
    {
        "role": "the role under test: server, application or middleware",
        "says": "what happens, in one English sentence",
        "script": "what the suite does, line by line",
        "meanwhile": "what the suite does as client and operator; by default request / and stop",
        "workers": "the number of worker processes if it is not 1",
        "expect": "for each rule that is checked, one phrase or several",
        "silent": "for rules: the specifications that do not specify this case, or true for all",
        "specs": "the specifications that the case is for; the default is all",
        "server": "for middleware, what the suite does as the server; the default is SERVER",
        "slow": "true if the case takes half a minute or longer; it runs with `--slow` only",
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
