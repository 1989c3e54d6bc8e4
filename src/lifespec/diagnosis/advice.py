"""What to change, by what was found: the same for a check, for a test and for a running server.

Each row was tried: tests/conformance/causes.py has a program with the fault, and the change after
which it has none.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from lifespec.diagnosis.fact import Error, Fact


class Row(NamedTuple):
    """What to change where one of these was found: a kind of fact, or whose application it is.

    With `where`, only in that phase or on that server.  With `words`, only for an exception whose
    text has one of them, or that is of a class of such a name.  `own` says whether a line of the
    author's has to have raised it.
    """

    found: Collection[str]
    change: str
    words: Collection[str] = ()
    own: bool | None = None
    where: str = ""


KEYS = ("path", "headers", "method", "query_string", "client", "server")  # of requests alone
MISSES = [f"KeyError: '{each}'" for each in KEYS]
DOING = ("doing-running", "doing-late", "doing-not-received")
MANAGER = "asynchronous context manager protocol"
# for each exception the first row that fits, and for each fact the first one
ROWS = (
    # a framework cannot use the lifespan that it was given
    Row((), "advise-no-call", [f"'function' object does not support the {MANAGER}"], own=False),
    Row((), "advise-decorator", [MANAGER, "attribute '__aenter__'", "is not an async"], own=False),
    Row((), "advise-one-argument", ["takes 0 positional arguments but 1 was given"], own=False),
    Row((), "advise-no-lifespan", ["can only handle ASGI/HTTP connections"], own=False),
    Row((), "advise-no-lifespan", ["No application configured for scope type"], own=False),
    Row((), "advise-mapping", ["dictionary update sequence", "object is not iterable"], own=False),
    # an exception of the author's code
    Row((), "advise-cancel-scope", ["to exit cancel scope", "to exit a cancel scope"]),
    Row((), "advise-other-loop", ["different loop", "different event loop", "loop is closed"]),
    Row((), "advise-no-loop", ["no running event loop"]),
    Row((), "advise-await", ["cannot be called from a running event loop"]),
    Row((), "advise-await", ["event loop is already running"]),
    Row((), "advise-middleware-late", ["Cannot add middleware after"]),
    Row((), "advise-yield-once", ["didn't yield", "didn't stop"]),
    Row((), "advise-port", ["ddress already in use"]),
    Row((), "advise-service", ["Connect call failed", "Connection refused", "ConnectionError"]),
    Row((), "advise-service", ["Name or service not known", "gaierror", "ConnectError"]),
    Row((), "advise-service", ["TimeoutError", "OperationalError", "ServerSelectionTimeout"]),
    Row((), "advise-service", ["NoBrokersAvailable", "KafkaConnection"]),
    Row((), "advise-cancelled", ["CancelledError"]),
    Row((), "advise-missing-module", ["ModuleNotFoundError"]),
    Row((), "advise-hooks-gone", ["argument 'on_startup'", "argument 'on_shutdown'"]),
    Row((), "advise-hooks-gone", ["attribute 'on_event'", "attribute 'add_event_handler'"]),
    Row((), "advise-depends", ["'Depends' object"]),
    # how the application answers, or what it does instead
    Row(["inner"], "advise-scope", MISSES),
    Row(["inner"], "advise-any-scope"),
    Row(["raised-on-scope", "watch-unsupported"], "advise-scope", MISSES, own=True),
    Row(["raised-on-scope", "watch-unsupported"], "advise-any-scope", own=True),
    Row(["raised-on-scope", "returned-on-scope"], "advise-find-lifespan"),
    Row(["watch-unsupported"], "advise-no-lifespan"),
    Row(["raised-late", "watch-raised"], "advise-send-failed"),
    Row(["returned-late"], "advise-answer"),
    Row(["returned-early"], "advise-wait"),
    Row(["failed-early", "raised-early", "watch-crashed"], "advise-crash"),
    Row(["doing-blocked"], "advise-blocked"),
    Row(["doing-idle"], "advise-silent"),
    Row(DOING, "advise-startup", where="startup"),
    Row(DOING, "advise-clean-up", where="shutdown"),
    # what else was found
    Row(["lingers", "watch-thread", "watch-child"], "advise-close"),
    Row(["died", "died-stopping", "watch-died"], "advise-died"),
    Row(["handler-ignored"], "advise-handler-ignored"),
    Row(["registered-late"], "advise-register-sooner"),
    Row(["never-ran", "never-ran-mounted"], "advise-never-ran"),
    Row(["watch-requests"], "advise-limit-uvicorn", where="uvicorn"),
    Row(["watch-requests"], "advise-limit-granian", where="granian"),
    Row(["watch-importing", "watch-never", "watch-not-stopped"], "see-troubleshooting"),
    Row(["watch-failed", "watch-failed-again"], "see-troubleshooting"),
    Row(["watch-requests", "watch-silent", "watch-signal-lost", "signal-taken"], "see-hang"),
    Row(["watch-cut-off", "watch-startup-cut-off", "watch-left-out"], "see-hang"),
)


def on_error(error: Error) -> Fact | None:
    """Return what to change by the kind of an exception; None if nothing is known."""
    return next((Fact(each.change) for each in ROWS if not each.found and fits(each, error)), None)


def on(found: Fact, *where: str, error: Error | None = None) -> Fact | None:
    """Return what to change where a fact was found; None if nothing is known.

    `where` is the phase, and the name of a server.
    """
    known = {*where, *_kinds(found)}
    rows = (each for each in ROWS if known & {*each.found} and each.where in ("", *where))
    return next((Fact(each.change) for each in rows if fits(each, error)), None)


def fits(row: Row, error: Error | None) -> bool:
    """Tell whether an exception is one that a row is about."""
    if not error:
        return not row.words and row.own is None
    kinds = [each for each in error.kinds if each != "CancelledError"]  # a group's, of its tasks
    text = "\n".join((f"{error.type}: {error.text}", *kinds, error.texts))
    is_named = not row.words or any(each in text for each in row.words)
    return is_named and row.own in (None, bool(error.place))


def is_misshapen(error: Error) -> bool:
    """Tell whether a framework could not use the lifespan that it was given."""
    return any(row.own is False and fits(row, error) for row in ROWS)


def _kinds(part: Any) -> Iterator[str]:
    """Yield the kind of a fact, and those of its parts."""
    if isinstance(part, Fact):
        yield part.kind
        for each in part.parts.values():
            yield from _kinds(each)
