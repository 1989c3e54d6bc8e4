"""What happened in a case, as lines: in every role the suite writes them, and judges by them.

As a server it writes what happens in its calls of the application.  As an application, in a server
or inside of middleware, it writes what happens in the calls that it gets.
"""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple, get_args

from lifespec.diagnosis.fact import Fact, fact
from lifespec.testing.trace import Entry, Kind

DRAWN = get_args(Kind)  # kinds of lines that the diagram of a sequence shows
REQUESTS = ("http", "websocket")  # the types of scopes of requests
SHUTDOWN = "lifespan.shutdown"


class LogLine(NamedTuple):
    """What happened: when, by the monotonic clock, its kind, and the type of an event or a scope.

    `text` is a message, or the text of an exception, and `error` the name of its class.  `why` is a
    fact that explains it.  `side` is whose line it is: the server's, the application's, or that of
    a "child", a task that the application has started.  `call` is a number, on the server's side 0
    for the lifespan.  `step` is where the script was.  `event` is an event or a scope as data, and
    `path` that of a request.  `state` is the state as data, `state_id` its identity, 0 without one,
    and `ids` are the identities of its values, or of exceptions.  The last three say where it was.
    """

    time: float
    kind: str
    type: str = ""
    text: str = ""
    error: str = ""
    why: Fact | None = None
    side: str = "server"
    call: int = 0
    step: int = 0
    event: Any = None
    path: str = ""
    state: Any = None
    state_id: int = 0
    ids: dict[str, int] = {}  # noqa: RUF012  nobody changes it
    pid: int = 0
    thread: int = 0
    loop: int = 0

    @property
    def caller(self) -> tuple[int, int]:
        """The process and the number of its call."""
        return self.pid, self.call

    @property
    def place(self) -> tuple[int, int, int]:
        """The event loop in which it was noted."""
        return self.pid, self.thread, self.loop

    def entry(self, begin: float) -> Entry:
        """Return the line as it is drawn in a message sequence that began then."""
        what, text = f"{self.type or ''} {self.path}".rstrip(), self.text
        if self.kind == "raised":
            what = self.error
        elif self.kind == "refused":
            text = f"{self.error}: {self.text}"
        seconds = round(self.time - begin, 3)
        return Entry(seconds, self.kind, what, self.why or text)  # type: ignore[arg-type]


class Log(list[LogLine]):
    """The lines of a case."""

    def of(
        self,
        *kinds: str,
        type_: str | None = None,
        side: str | None = None,
        caller: tuple[int, int] | None = None,
    ) -> list[LogLine]:
        """Return the lines of these kinds; all, or those of a type, a side and a call."""
        lines = []
        for line in self:
            if line.kind not in kinds:  # first, since a log may be long and has few of a kind
                continue
            if type_ not in (None, line.type):
                continue
            if side not in (None, line.side):
                continue
            if caller in (None, line.caller):
                lines.append(line)
        return lines


def entries(lines: Iterable[LogLine], begin: float) -> tuple[Entry, ...]:
    """Return the message sequence of these lines, by their time.

    Calls for the same request one after the other, of a client that asks until it is answered, are
    one entry with their number.
    """
    drawn: list[Entry] = []
    last = None
    count = 1
    for line in sorted(lines, key=attrgetter("time")):
        if line.kind not in DRAWN:
            continue
        entry = line.entry(begin)
        # a lifespan that is called twice is drawn twice: that is what such a diagram is to show
        is_request = line.kind == "called" and line.type in REQUESTS
        if is_request and (entry.kind, entry.type) == last:
            count += 1
            drawn[-1] = replace(drawn[-1], detail=fact("repeated", count=count))  # type: ignore[arg-type]
        else:
            count = 1
            drawn.append(entry)
        last = (entry.kind, entry.type)
    return tuple(drawn)
