"""What to change, by what was found: the same for a check, for a test and for a running server.

Each row was tried: the page of its problem or tests/conformance/causes.py has a program with the
fault, and the change after which it has none.
"""

import errno
from collections.abc import Collection
from typing import NamedTuple

from lifespec.diagnosis.fact import Error, Fact, kinds_in
from lifespec.diagnosis.stacks import CANCELLED, ErrorData


class Advice(NamedTuple):
    """What to change where one of these was found: a kind of fact, or whose application it is.

    With `where`, only in that phase or on that server.  With `classes`, only for an exception that
    is of one of these, by whole names; with `says` its text has one of these, with `numbers` its
    `errno` is one of these; with `file`, only if it was raised there.  `own` says whether a line of
    the author's has to have raised it.
    """

    found: Collection[str]
    change: str
    classes: Collection[str] = ()
    says: Collection[str] = ()
    numbers: Collection[int] = ()
    own: bool | None = None
    where: str = ""
    file: str = ""


OF_REQUESTS = ("path", "headers", "method", "query_string", "client", "server")  # of requests alone
MISSES = [repr(key) for key in OF_REQUESTS]
DOING = ("doing-running", "doing-late", "doing-not-received", "doing-awaits-task")
ATTRIBUTE, KEY, RUNTIME = "builtins.AttributeError", "builtins.KeyError", "builtins.RuntimeError"
OS, TYPE, VALUE = "builtins.OSError", "builtins.TypeError", "builtins.ValueError"
OPEN = ("open-requests", "open-background", "open-requests-and-background")
MANAGER = "asynchronous context manager protocol"
NO_MANAGER = (MANAGER, "attribute '__aenter__'", "is not an async")
OTHER_LOOP = ("different loop", "different event loop", "loop is closed")
# what DRIVERS say if nobody answers: they raise the same classes for other reasons, too
UNREACHABLE = (
    "Connection refused", "Name or service not known", "could not translate host name",
    "failed to resolve host", "timeout expired", "Can't connect to MySQL server",
)  # fmt: skip
DRIVERS = (
    "psycopg.OperationalError", "psycopg2.OperationalError", "pymysql.err.OperationalError",
    "MySQLdb.OperationalError",
)  # fmt: skip
SERVICES = (
    "socket.gaierror", "httpx.ConnectError", "httpx.ConnectTimeout", "httpcore.ConnectError",
    "redis.exceptions.ConnectionError", "redis.exceptions.TimeoutError",
    "valkey.exceptions.ConnectionError", "pymongo.errors.ServerSelectionTimeoutError",
    "kafka.errors.NoBrokersAvailable", "kafka.errors.KafkaConnectionError",
    "aiokafka.errors.KafkaConnectionError", "aiormq.exceptions.AMQPConnectionError",
    "pika.exceptions.AMQPConnectionError", "nats.errors.NoServersError",
    "elastic_transport.ConnectionError", "psycopg.errors.ConnectionTimeout",
)  # fmt: skip
UNANSWERED = (
    errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT,
)  # fmt: skip
HOOKS = ("argument 'on_startup'", "argument 'on_shutdown'")
NO_HOOKS = ("attribute 'on_event'", "attribute 'add_event_handler'")
# in order: the first row that fits what was found, and its exception, counts
ROWS = (
    # a framework cannot use the lifespan that it was given
    Advice(
        (),
        "advise-no-call",
        [TYPE],
        [f"'function' object does not support the {MANAGER}"],
        own=False,
    ),
    Advice((), "advise-decorator", [TYPE, ATTRIBUTE], NO_MANAGER, own=False),
    Advice(
        (),
        "advise-one-argument",
        [TYPE],
        ["takes 0 positional arguments but 1 was given"],
        own=False,
    ),
    Advice((), "advise-no-lifespan", [VALUE], ["can only handle ASGI/HTTP connections"], own=False),
    Advice(
        (), "advise-no-lifespan", [VALUE], ["No application configured for scope type"], own=False
    ),
    Advice((), "advise-mapping", [VALUE], ["dictionary update sequence"], own=False),
    Advice(
        (),
        "advise-mapping",
        [TYPE],
        ["object is not iterable", "object is not a mapping"],
        own=False,
    ),
    # an exception of the author's code
    Advice(
        (), "advise-cancel-scope", [RUNTIME], ["to exit cancel scope", "to exit a cancel scope"]
    ),
    Advice((), "advise-other-loop", [RUNTIME], OTHER_LOOP),
    Advice((), "advise-no-loop", [RUNTIME], ["no running event loop"]),
    Advice((), "advise-await", [RUNTIME], ["cannot be called from a running event loop"]),
    Advice((), "advise-await", [RUNTIME], ["event loop is already running"]),
    Advice((), "advise-await", [RUNTIME], ["while another loop is running"]),
    Advice((), "advise-middleware-late", [RUNTIME], ["Cannot add middleware after"]),
    Advice((), "advise-yield-once", [RUNTIME], ["didn't yield", "didn't stop"]),
    Advice((), "advise-variable", [KEY], file="<frozen os>"),
    Advice((), "advise-port", [OS], numbers=[errno.EADDRINUSE]),
    Advice((), "advise-service", SERVICES),
    Advice((), "advise-service", [OS], numbers=UNANSWERED),
    Advice((), "advise-service", [OS], ["Connect call failed"]),  # several addresses have no number
    Advice((), "advise-service", DRIVERS, UNREACHABLE),
    Advice((), "advise-cancelled", [CANCELLED]),
    Advice((), "advise-missing-module", ["builtins.ModuleNotFoundError"]),
    Advice((), "advise-hooks-gone", [TYPE], HOOKS),
    Advice((), "advise-hooks-gone", [ATTRIBUTE], NO_HOOKS),
    Advice((), "advise-depends", [TYPE, ATTRIBUTE], ["'Depends' object"]),
    # how the application answers, or what it does instead
    Advice(["inner"], "advise-scope", [KEY], MISSES),
    Advice(["inner"], "advise-any-scope"),
    Advice(["raised-on-scope"], "advise-scope", [KEY], MISSES, own=True),
    Advice(["raised-on-scope"], "advise-any-scope", own=True),
    Advice(["raised-on-scope", "returned-on-scope"], "advise-find-lifespan"),
    Advice(["raised-late"], "advise-send-failed"),
    Advice(["returned-late"], "advise-answer"),
    Advice(["returned-early"], "advise-wait"),
    Advice(["failed-early", "raised-early"], "advise-crash"),
    Advice(["interrupted-early"], "advise-interrupt"),
    Advice(["doing-blocked"], "advise-blocked"),
    Advice(["doing-blocked-thread"], "advise-join"),
    Advice(["doing-blocked-future"], "advise-result"),
    Advice(["doing-idle"], "advise-silent"),
    Advice(["doing-awaits-due"], "advise-due"),
    Advice(
        ["doing-awaits-sleep", "doing-awaits-forever", "doing-awaits-again"],
        "advise-clean-up",
        where="shutdown",
    ),
    Advice(["doing-awaits-again"], "advise-again"),
    Advice(["doing-awaits-thread"], "advise-thread", where="shutdown"),
    Advice(["doing-awaits-thread"], "advise-thread-limit"),
    Advice(["doing-awaits-lock"], "advise-lock"),
    Advice(["doing-awaits-event"], "advise-event"),
    Advice(["doing-awaits-item"], "advise-item"),
    Advice(["doing-awaits-room"], "advise-room"),
    Advice(["doing-awaits-queue"], "advise-queue"),
    Advice(["doing-awaits-sleep"], "advise-sleep"),
    Advice(["doing-awaits-forever"], "advise-forever"),
    Advice(["doing-awaits-future"], "advise-future"),
    Advice(["doing-awaits-connection"], "advise-connection"),
    Advice(["doing-awaits-process"], "advise-process"),
    Advice(DOING, "advise-startup", where="startup"),
    Advice(DOING, "advise-clean-up", where="shutdown"),
    # what else was found
    Advice(["lingers", "process-held"], "advise-close"),
    Advice(["died", "died-stopping"], "advise-died"),
    Advice(["handler-ignored"], "advise-handler-ignored"),
    Advice(["registered-late"], "advise-register-sooner"),
    Advice(["never-ran", "never-ran-mounted"], "advise-never-ran"),
    Advice(OPEN, "advise-thread-limit", where="in-threads"),
    Advice(OPEN, "advise-limit-uvicorn", where="uvicorn"),
    Advice(OPEN, "advise-limit-granian", where="granian"),
    Advice(OPEN, "advise-limit-hypercorn", where="hypercorn 3.10"),
    Advice(OPEN, "advise-limit-hypercorn", where="hypercorn 3.11"),
    Advice(OPEN, "advise-limit-hypercorn-never", where="hypercorn"),
    Advice(OPEN, "advise-limit-gunicorn", where="gunicorn"),
    Advice(OPEN, "advise-limit-gunicorn-worker", where="gunicorn, asgi"),
    Advice(OPEN, "advise-limit-gunicorn-timeout", where="gunicorn, uvicorn-worker"),
)


def on_error(error: Error) -> Fact | None:
    """Return what to change by the kind of an exception; None if nothing is known."""
    for row in ROWS:
        if row.found:  # it is about a fact
            continue
        if fits(row, error):
            return Fact(row.change)
    return None


def on(found: Fact, *where: str, error: Error | None = None) -> Fact | None:
    """Return what to change where a fact was found; None if nothing is known.

    `where` is the phase, and the name of a server.
    """
    known = set(kinds_in(found))
    known.update(where)
    for row in ROWS:
        if known.isdisjoint(row.found):
            continue
        if row.where not in ("", *where):
            continue
        if fits(row, error):
            return Fact(row.change)
    return None


def fits(row: Advice, error: Error | None) -> bool:
    """Tell whether an exception, or one that it came from, is one that a row is about."""
    if not error:
        return row.own is None and not row.classes
    if row.own not in (None, bool(error.place)):
        return False
    if row.file not in ("", error.file):
        return False
    if not row.classes:
        return True
    for number, raised in enumerate(error.chain):
        # a group has the cancellations of its tasks, too: only the first counts
        if number and CANCELLED in raised.classes:
            continue
        if _is_about(row, raised):
            return True
    return False


def _is_about(row: Advice, raised: ErrorData) -> bool:
    """Tell whether an exception is of a row's classes, and says what the row wants."""
    if set(row.classes).isdisjoint(raised.classes):
        return False
    if row.numbers and raised.errno not in row.numbers:
        return False
    if not row.says:
        return True
    return any(text in raised.text for text in row.says)


def is_misshapen(error: Error) -> bool:
    """Tell whether a framework could not use the lifespan that it was given."""
    return any(fits(row, error) for row in ROWS if row.own is False)
