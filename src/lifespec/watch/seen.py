"""What the agent of a watched process writes: all that `lifespec watch` says is drawn from it.

A line of the file is the name of a class below and its values, as Python writes a tuple; the lines
have the order in which things happened.  The agent makes them in the process that is watched, so
this is self-contained, for Python 3.9 and newer, and imports nothing that costs time there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here: `typing` alone takes milliseconds
    from collections.abc import Sequence
    from typing import Any, NamedTuple
else:
    from collections import namedtuple

    class _Typed(type):
        """Makes a class with annotations a named tuple, as `typing.NamedTuple` does."""

        def __new__(mcs, name, bases, body):  # noqa: ANN001, ANN204
            if not bases:
                return super().__new__(mcs, name, bases, body)
            names = list(body["__annotations__"])
            defaults = [body[name] for name in names if name in body]
            kind = namedtuple(name, names, defaults=defaults)
            kind.__doc__ = body["__doc__"]
            kind.__repr__ = tuple.__repr__  # which literal_eval reads
            return kind

    class NamedTuple(metaclass=_Typed):
        """Stands for `typing.NamedTuple`."""


# ---- parts of lines ----------------------------------------------------------------------------


class At(NamedTuple):
    """A line of code that a call has come to; `own` says whether it is the author's."""

    file: str
    line: int
    function: str
    own: bool


def is_own(lines: Sequence[At]) -> bool:
    """Tell whether the innermost of some lines is the author's."""
    return bool(lines) and lines[-1].own


class WrittenError(NamedTuple):
    """An exception, of a group the first; `outside`: a cancellation came from outside its task.

    `chain` has it and those that it came from: the names of their classes, text and `errno`.
    `loop_ends`: its event loop cancelled all its tasks then.
    """

    type: str
    text: str
    lines: list[At]
    outside: bool = False
    chain: list[Any] = []  # noqa: RUF012
    loop_ends: bool = False


class CallState(NamedTuple):
    """A call of the application with the lifespan scope.

    It is over, or runs just now, or `asks` for an event, or waits at `lines` for a thing of a kind
    of `waits`: `awaits`.
    """

    over: bool
    runs: bool
    asks: bool
    lines: list[At]
    awaits: str = ""


class Request(NamedTuple):
    """A request or WebSocket that is open, for how many whole seconds (None: not known), and where.

    `background`: it is at a task that follows its response.  `thread`: a thread works for it.
    """

    method: str
    path: str
    age: int | None
    lines: list[At]
    background: bool = False
    thread: bool = False


class Blocked(NamedTuple):
    """An event loop that runs one thing, for so many whole seconds, and how that blocks it."""

    seconds: int
    lines: list[At]
    kind: str = "blocked"


class Thread(NamedTuple):
    """A thread that keeps its process."""

    name: str
    lines: list[At]


# ---- lines: what has happened ------------------------------------------------------------------


class Began(NamedTuple):
    """The agent has begun, in a new process or in one that was forked, of this Python ("3.12")."""

    time: float
    python: str


class Called(NamedTuple):
    """A server has called the application with the lifespan scope."""

    time: float
    server: str


class Received(NamedTuple):
    """The application has called `receive` for the first time."""

    time: float


class Sent(NamedTuple):
    """The application has sent an event, perhaps with a text, perhaps while it had an exception."""

    time: float
    type: str
    text: str
    error: WrittenError | None


class Raised(NamedTuple):
    """The server has caught what the application raised."""

    time: float
    error: WrittenError


class Signalled(NamedTuple):
    """A handler of the server has got a signal."""

    time: float
    server: str
    signal: int


class Hosted(NamedTuple):
    """The process is a worker of a server, in which another one may serve."""

    time: float
    by: str


class Stop(NamedTuple):
    """The server has begun to stop, whatever has told it to."""

    time: float
    server: str


class Shutdown(NamedTuple):
    """The server sends lifespan.shutdown; `error` is what it handles then, such as a port taken."""

    time: float
    server: str
    error: WrittenError | None = None


class NoLifespan(NamedTuple):
    """The server serves the application without a call with the lifespan scope."""

    time: float
    server: str


class Died(NamedTuple):
    """A task has failed, and nobody has asked for its exception."""

    time: float
    task: str
    error: WrittenError


class Left(NamedTuple):
    """Something has called `os._exit`: the process ends at once."""

    time: float
    status: int
    lines: list[At]


class Ending(NamedTuple):
    """The interpreter ends: its threads have ended, and the last exit handler runs."""

    time: float


class Failed(NamedTuple):
    """The agent itself has failed: the exception, its text, and the line of lifespec."""

    time: float
    failure: tuple[str, str, str, int, str]


class Look(NamedTuple):
    """What the process does, when that is something else than at the look before.

    `loops` is how many event loops run, `known` are calls of servers that tell what they do, and
    `others` those that were found.  `still` is for how many seconds the main thread has been at
    `main`.  `threads` and `children` keep the process once no event loop of it runs any more;
    before, `threads` is None.  `all`: no request was left out.  `handlers` are the author's, of
    signals, and `importing` is the module whose import lasts.  `unserved`: no server of this
    process has begun to serve, and `main` is where its author waits before that.
    """

    time: float
    loops: int
    blocked: list[Blocked]
    known: list[CallState]
    others: list[CallState]
    handlers: dict[str, tuple[str, int, str]]
    requests: list[Request]
    open: int
    all: bool
    importing: str
    main: list[At]
    still: int
    threads: list[Thread] | None
    children: list[str]
    unserved: bool = False


LINE_KINDS = {
    kind.__name__: kind
    for kind in (
        Began, Called, Received, Sent, Raised, Signalled, Hosted, Stop, Shutdown, NoLifespan, Died,
        Left, Ending, Failed, Look,
    )
}  # fmt: skip
if TYPE_CHECKING:
    Happening = (
        Began | Called | Received | Sent | Raised | Signalled | Hosted | Stop | Shutdown
        | NoLifespan | Died | Left | Ending | Failed
    )  # fmt: skip
# the class of a field's value, or of each value if it is a list, by the name of the field
PART_KINDS = {
    "lines": At, "main": At, "error": WrittenError, "blocked": Blocked, "known": CallState,
    "others": CallState, "requests": Request, "threads": Thread,
}  # fmt: skip


def written(line: Happening | Look) -> str:
    """Return a line as the agent writes it."""
    return repr((type(line).__name__, *line)) + "\n"


def parsed(text: str) -> Happening | Look:
    """Return the line that was written so."""
    from ast import literal_eval  # noqa: PLC0415  which the agent does not need

    name, *values = literal_eval(text)
    line: Happening | Look = _restored(LINE_KINDS[name], values)
    return line


def _restored(kind: Any, values: Any) -> Any:
    """Return an object of a class of this module from its values."""
    fields = {}
    for name, value in zip(kind._fields, values):
        fields[name] = value
        part = PART_KINDS.get(name)
        if part is None:
            continue
        if isinstance(value, list):
            fields[name] = [_restored(part, item) for item in value]
        elif value is not None:
            fields[name] = _restored(part, value)
    return kind(**fields)
