"""What to change, by what was found: the same for a check, for a test and for a running server.

Each row was tried: the page of its problem or tests/conformance/causes.py has a program with the
fault, and the change after which it has none.
"""

import errno
from collections.abc import Collection
from typing import NamedTuple

from lifespec.diagnosis.fact import Error, Fact, kinds_in
from lifespec.diagnosis.stacks import CANCELLED, Raised


class Row(NamedTuple):
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
# a text of its own class, as the classes say more than that nobody answers
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
# for each exception the first row that fits, and for each fact the first one
ROWS = (
    # a framework cannot use the lifespan that it was given
    Row(
        (),
        "advise-no-call",
        [TYPE],
        [f"'function' object does not support the {MANAGER}"],
        own=False,
    ),
    Row((), "advise-decorator", [TYPE, ATTRIBUTE], NO_MANAGER, own=False),
    Row(
        (),
        "advise-one-argument",
        [TYPE],
        ["takes 0 positional arguments but 1 was given"],
        own=False,
    ),
    Row((), "advise-no-lifespan", [VALUE], ["can only handle ASGI/HTTP connections"], own=False),
    Row((), "advise-no-lifespan", [VALUE], ["No application configured for scope type"], own=False),
    Row((), "advise-mapping", [VALUE], ["dictionary update sequence"], own=False),
    Row((), "advise-mapping", [TYPE], ["object is not iterable"], own=False),
    # an exception of the author's code
    Row((), "advise-cancel-scope", [RUNTIME], ["to exit cancel scope", "to exit a cancel scope"]),
    Row((), "advise-other-loop", [RUNTIME], OTHER_LOOP),
    Row((), "advise-no-loop", [RUNTIME], ["no running event loop"]),
    Row((), "advise-await", [RUNTIME], ["cannot be called from a running event loop"]),
    Row((), "advise-await", [RUNTIME], ["event loop is already running"]),
    Row((), "advise-middleware-late", [RUNTIME], ["Cannot add middleware after"]),
    Row((), "advise-yield-once", [RUNTIME], ["didn't yield", "didn't stop"]),
    Row((), "advise-variable", [KEY], file="<frozen os>"),
    Row((), "advise-port", [OS], numbers=[errno.EADDRINUSE]),
    Row((), "advise-service", SERVICES),
    Row((), "advise-service", [OS], numbers=UNANSWERED),
    Row((), "advise-service", [OS], ["Connect call failed"]),  # several addresses have no number
    Row((), "advise-service", DRIVERS, UNREACHABLE),
    Row((), "advise-cancelled", [CANCELLED]),
    Row((), "advise-missing-module", ["builtins.ModuleNotFoundError"]),
    Row((), "advise-hooks-gone", [TYPE], HOOKS),
    Row((), "advise-hooks-gone", [ATTRIBUTE], NO_HOOKS),
    Row((), "advise-depends", [TYPE, ATTRIBUTE], ["'Depends' object"]),
    # how the application answers, or what it does instead
    Row(["inner"], "advise-scope", [KEY], MISSES),
    Row(["inner"], "advise-any-scope"),
    Row(["raised-on-scope"], "advise-scope", [KEY], MISSES, own=True),
    Row(["raised-on-scope"], "advise-any-scope", own=True),
    Row(["raised-on-scope", "returned-on-scope"], "advise-find-lifespan"),
    Row(["raised-late"], "advise-send-failed"),
    Row(["returned-late"], "advise-answer"),
    Row(["returned-early"], "advise-wait"),
    Row(["failed-early", "raised-early"], "advise-crash"),
    Row(["doing-blocked"], "advise-blocked"),
    Row(["doing-idle"], "advise-silent"),
    Row(["doing-awaits-due"], "advise-due"),
    Row(
        ["doing-awaits-sleep", "doing-awaits-forever", "doing-awaits-again"],
        "advise-clean-up",
        where="shutdown",
    ),
    Row(["doing-awaits-again"], "advise-again"),
    Row(["doing-awaits-thread"], "advise-thread", where="shutdown"),
    Row(["doing-awaits-thread"], "advise-thread-limit"),
    Row(["doing-awaits-lock"], "advise-lock"),
    Row(["doing-awaits-event"], "advise-event"),
    Row(["doing-awaits-item"], "advise-item"),
    Row(["doing-awaits-room"], "advise-room"),
    Row(["doing-awaits-queue"], "advise-queue"),
    Row(["doing-awaits-sleep"], "advise-sleep"),
    Row(["doing-awaits-forever"], "advise-forever"),
    Row(["doing-awaits-future"], "advise-future"),
    Row(["doing-awaits-connection"], "advise-connection"),
    Row(["doing-awaits-process"], "advise-process"),
    Row(DOING, "advise-startup", where="startup"),
    Row(DOING, "advise-clean-up", where="shutdown"),
    # what else was found
    Row(["lingers", "process-held"], "advise-close"),
    Row(["died", "died-stopping"], "advise-died"),
    Row(["handler-ignored"], "advise-handler-ignored"),
    Row(["registered-late"], "advise-register-sooner"),
    Row(["never-ran", "never-ran-mounted"], "advise-never-ran"),
    Row(OPEN, "advise-thread-limit", where="in-threads"),
    Row(OPEN, "advise-limit-uvicorn", where="uvicorn"),
    Row(OPEN, "advise-limit-granian", where="granian"),
    Row(OPEN, "advise-limit-hypercorn", where="hypercorn 3.10"),
    Row(OPEN, "advise-limit-hypercorn", where="hypercorn 3.11"),
    Row(OPEN, "advise-limit-hypercorn-never", where="hypercorn"),
    Row(OPEN, "advise-limit-gunicorn", where="gunicorn"),
    Row(OPEN, "advise-limit-gunicorn-worker", where="gunicorn, asgi"),
    Row(OPEN, "advise-limit-gunicorn-timeout", where="gunicorn, uvicorn-worker"),
)


def on_error(error: Error) -> Fact | None:
    """Return what to change by the kind of an exception; None if nothing is known."""
    for row in ROWS:
        if not row.found and fits(row, error):
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
        if row.where and row.where not in where:
            continue
        if fits(row, error):
            return Fact(row.change)
    return None


def fits(row: Row, error: Error | None) -> bool:
    """Tell whether an exception, or one that it came from, is one that a row is about."""
    if not error:
        return not row.classes and row.own is None
    if row.own not in (None, bool(error.place)):
        return False
    if row.file and row.file != error.file:
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


def _is_about(row: Row, raised: Raised) -> bool:
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
    return any(row.own is False and fits(row, error) for row in ROWS)
