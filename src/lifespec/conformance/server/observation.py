"""What was seen of a server in one case."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lifespec.conformance.cases import Case

__all__ = [
    "FOLDERS",
    "LIFESPAN",
    "PATIENCE",
    "RAISED",
    "REQUESTS",
    "Answer",
    "Beside",
    "Knock",
    "Line",
    "Result",
    "ServerObservation",
    "Unspecified",
    "among",
    "clock",
    "count",
    "loop",
    "own",
    "own_words",
    "short",
]

Line = dict[str, Any]
LONGEST = 160  # characters of what somebody said
LIFESPAN = ("called", "lifespan")
REQUESTS = ("http", "message", "websocket")  # the types of scopes that somebody has asked for
FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")  # of one machine, and long
RAISED = 70  # the exit status of a process in which a test client raised an exception
_MARGIN = " \t|+-"  # with which groups of exceptions draw their lines
_FRAME = re.compile(r'[\s|+-]*File ".*", line \d+, in ')
_HEAD = re.compile(r"Traceback \(most recent call last\):|^[\s|+-]+$")
PATIENCE = 10.0  # seconds in which a server does something, where nothing else is said

# What becomes of a connection to the server's port, and of a request on it.
Knock = Literal["refused", "unanswered", "answered"]


class Answer(NamedTuple):
    """A request's fate: what the probe answered, None where nobody did; and when."""

    path: str
    asked: float
    answered: float
    body: Mapping[str, Any] | None


class Result(NamedTuple):
    """Whether a phrase holds, and what was seen."""

    held: bool
    actual: str


class Beside(Exception):
    """A phrase says nothing of this case; `str()` says why."""


class Unspecified(Exception):
    """A phrase does not hold, and no specification says that it should; `str()` is the sight."""


@dataclass
class ServerObservation:
    """All that was seen in one case; times are seconds on the clock that counts monotonically.

    `answers` are those of each `request`, the last one where it had to be repeated.  `stopped` is
    when the signal came, `told` when the suite last did something, `ended` when the process did,
    None where it was still there after `limit`.  `status` is its exit status, `left` the processes
    that it left behind, `elsewhere` the ports on which it listens instead.  `knocks` say of each
    attempt to connect whether it was accepted.  `hindrance` says why a connection could not be used
    as the case wants it, or is "".  `late` says that something was awaited in vain, which can be
    the fault of a machine with too much to do.  `client` is True of a test client or an adapter,
    whose exceptions go to the code that uses it.  `demand` is the option with which the server was
    told to refuse applications without lifespan support, or "".
    """

    case: Case
    lines: list[Line] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    output: str = ""
    stopped: float | None = None
    told: float = 0.0
    ended: float | None = None
    status: int | None = None
    left: set[int] = field(default_factory=set)
    elsewhere: list[int] = field(default_factory=list)
    knocks: list[Knock] = field(default_factory=list)
    hindrance: str = ""
    client: bool = False
    demand: str = ""
    late: bool = False
    limit: float = PATIENCE
    spec: str = "asgi 2.0"

    def all(self, kind: str, type_: str | None = None, by: str = "") -> list[Line]:
        """Return the lines of a kind, and of a type where it matters."""
        return [
            line
            for line in self.lines
            if line["kind"] == kind
            and type_ in (None, line.get("type"))
            and line.get("by", "") == by
        ]

    @property
    def lifespans(self) -> list[Line]:
        """The calls with the scope of a lifespan; raise Beside where there was none."""
        return self.all("called", "lifespan") or self.beside()

    def beside(self) -> NoReturn:
        """Raise Beside: say how far the application has come."""
        raise Beside(self.stuck)

    @property
    def requests(self) -> list[Line]:
        """The calls for requests."""
        return [line for line in self.all("called") if line.get("type") in REQUESTS]

    def first(self, kind: str, type_: str | None = None) -> Line:
        """Return the first line of a kind, by the clock; raise Beside where there is none."""
        return min(self.all(kind, type_) or self.beside(), key=clock)

    def reached(self, step: int) -> None:
        """Raise Beside where the script did not come to a step."""
        if not any(line["step"] == step for line in self.all("plays")):
            line = self.case.lines[step]
            raise Beside(f'Step {step + 1}, "{line}", was not reached. {self.stuck}')

    def finished(self) -> None:
        """Raise Beside where the script did not come to its last step."""
        self.reached(len(self.case.script) - 1)

    @property
    def to_caller(self) -> str:
        """What a test client or an adapter raised in the code that uses it, or ""."""
        if not self.client or self.status != RAISED:
            return ""
        return next(reversed(own_words(self.output)), "an exception")

    @property
    def words(self) -> list[str]:
        """The lines of the output that are messages: of a traceback only what was raised."""
        return own_words(self.output)

    @property
    def stuck(self) -> str:
        """Where the application has stopped, in a sentence."""
        if not self.all("called", "lifespan"):
            return "The application was not called with the scope of a lifespan."
        last = max((line for line in self.lines if line["call"]), key=clock)
        doing = f"{last['kind']} {last.get('type') or ''}".rstrip()
        return f'The application has not come so far: the last of it is "{doing}".'

    @property
    def end(self) -> str:
        """How the process, or the test client, has ended, in words."""
        if self.ended is None:
            who = "it" if self.client else "the process"
            return f"{who} was still there {self.limit:g} s later"
        if self.stopped is None:
            return self.way
        return f"{self.way} after {max(self.ended - self.told, 0):.1f} s"

    @property
    def way(self) -> str:
        """In what way it ended, without a time."""
        if self.client:
            return "it raised to the caller" if self.status == RAISED else "it ended"
        if self.status is not None and self.status < 0:
            return f"the process ended by signal {-self.status}"
        return f"the process ended with status {self.status}"

    @property
    def by_itself(self) -> bool:
        """Whether it ended without being told to."""
        return self.ended is not None and self.stopped is None


def own_words(output: str) -> list[str]:
    """Return the lines of an output that are no part of a traceback but its last line."""
    kept: list[str] = []
    frame: int | None = None  # how far the frame is indented whose code follows
    for line in output.splitlines():
        indent = len(line) - len(line.lstrip(_MARGIN))
        if _FRAME.match(line):
            frame = indent
        elif frame is None or indent <= frame:
            frame = None
            kept += [line] * (bool(line.strip(_MARGIN)) and not _HEAD.search(line))
    return kept


def clock(line: Line) -> float:
    """Return when a line was written, in seconds."""
    return float(line["time"])


def among(line: Line, *keys: str) -> tuple[Any, ...]:
    """Return some facts of a line."""
    return tuple(line[key] for key in keys)


def loop(line: Line) -> tuple[Any, ...]:
    """Return in which event loop a line was written."""
    return among(line, "pid", "thread", "loop")


def own(lines: Iterable[Line], call: Line) -> list[Line]:
    """Return those lines that belong to a call."""
    return [line for line in lines if among(line, "pid", "call") == among(call, "pid", "call")]


def count(number: int, what: str, more: str = "") -> str:
    """Return a number of things in words."""
    return f"{number} {what if number == 1 else more or what + 's'}"


def short(text: str) -> str:
    """Return what somebody said, without folders, and of a long line the first words."""
    text = FOLDERS.sub("…/", text)
    if len(text) <= LONGEST:
        return text
    begin = text[:LONGEST]
    return f"{begin.rpartition(' ')[0] or begin} …"
