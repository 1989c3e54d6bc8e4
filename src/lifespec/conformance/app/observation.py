"""What was observed of an application in a case: its log, and what was there at its end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from lifespec.conformance.log import SHUTDOWN, Log, LogLine, entries
from lifespec.diagnosis.course import Course
from lifespec.diagnosis.fact import Error, Fact, Place
from lifespec.diagnosis.leftovers import BegunTask
from lifespec.diagnosis.logged import Logged
from lifespec.diagnosis.stacks import text_of
from lifespec.testing.trace import Entry

DATA = (str, bytes, bool, int, float, type(None))
DEEPEST = 50  # containers in one another
LONG_ANSWER = 1.0  # seconds from which on a report says how long an answer took
MOMENTS = {  # what begins with a line of a kind and a type
    ("sent", "lifespan.startup.complete"): "serving",
    ("replied", ""): "serving",
    ("offered", SHUTDOWN): "stopping",
}


class Answer(NamedTuple):
    """How an application answered an event, and when.

    `how` is "complete" or "failed"; "raised", "returned", "exited" or "cancelled" if its call ended
    instead; "silent" if it received again instead of answering, "hung" if its time was over;
    "refused" if the suite refused what it sent; "" if it has not come to that.  `when` is
    "startup", "serving" before it received shutdown, or "shutdown".  `kind` is what `course` calls
    this end, "" if it is none.
    """

    how: str = ""
    when: str = ""
    kind: str = ""


NO_ANSWER = Answer()
PHASE_OF = {  # in which an answer comes, by the state of the lifespan
    "called": "startup",
    "starting": "startup",
    "running": "serving",
    "cleaning": "shutdown",
}


class Broken(NamedTuple):
    """A rule that a message broke, what was sent, and whether no specification forbids it."""

    rule: str
    observed: Fact
    open: bool


@dataclass(slots=True)
class Observation:
    """All that was observed of an application in one call.

    `reaction` says what came of what no application can know: how the call ended, or "sent",
    "received" or "silent".  `awaited` is what the suite waited for when the time was over,
    `activity` what the application did then, and `stack` where.  `error` is what the call raised,
    `caught` what a framework had caught when it sent `failed`.  `facts` are what else its author
    wants to know: what is left behind, tasks that failed, lifespans that were never entered.
    `complete` is True once there is no more to see.
    """

    startup: Answer = NO_ANSWER
    shutdown: Answer = NO_ANSWER
    log: Log = field(default_factory=Log)
    facts: list[Fact] = field(default_factory=list)
    failures: list[Fact] = field(default_factory=list)  # of lifespec itself
    unplayed: bool = False  # lifespec failed before its case was over
    broken: list[Broken] = field(default_factory=list)
    logged: list[Logged] = field(default_factory=list)
    reaction: str = ""
    ended: str = ""  # how the call ended: returned, raised, exited, cancelled
    ended_when_cancelled: bool = True  # in time
    awaited: str = ""
    activity: str = ""
    stack: tuple[Place, ...] = ()
    error: Error | None = None
    refuses: bool = False  # it was raised by an inner application, which refuses the scope
    caught: Error | None = None
    actor: str = ""  # the module of the innermost application that acted last
    framework: str = ""  # the installed package that has this module
    reached: Place | None = None  # where the innermost application got the scope, or raised for it
    spent: dict[str, Fact] = field(default_factory=dict)  # where most of a long phase went
    idle: bool = False  # it waits for an event
    cost: float = 0.0  # seconds of the processor
    memory: int = 0  # bytes that its process shares with no other
    total: int = 0  # bytes that its process has, with those that it shares
    blocker: Fact | None = None  # why nothing can be judged
    exited: Fact | str = ""  # how its process ended by itself
    process_stays: bool = False  # it did not end in time
    on_trio: bool = False
    answerer: Fact | None = None  # the author's line that answered startup
    complete: bool = False
    course: Course = field(default_factory=Course)
    reply: Fact | None = None  # what came of the request
    before: "Observation | None" = None  # what was seen in the event loop before this one
    task_sources: set[tuple[str, int]] = field(default_factory=set)  # of what its tasks have run
    running: list[BegunTask] = field(default_factory=list)  # its own tasks when it is to stop
    routes: tuple[str, ...] = ()  # the paths of its routes at the end, if it has a list of these
    printed: tuple[str, ...] = ()  # the last lines of its output

    @property
    def errors(self) -> list[Error]:
        """The exceptions that were seen, that which a framework had caught first."""
        return [error for error in (self.caught, self.error) if error]

    def of(self, *kinds: str) -> list[LogLine]:
        """Return the lines of these kinds about the lifespan, at the side of the server."""
        return self.log.of(*kinds, side="server", caller=(0, 0))

    def facts_of(self, *kinds: str) -> list[Fact]:
        """Return the facts whose kinds begin so."""
        return [fact for fact in self.facts if fact.kind.startswith(kinds)]

    @property
    def leftovers(self) -> list[Fact]:
        """The tasks, threads and processes that are left behind."""
        return self.facts_of("task-", "thread-", "daemon-", "process-")

    @property
    def received(self) -> bool:
        """Whether it received an event."""
        return bool(self.of("received"))

    @property
    def sent(self) -> list[str]:
        """The types of what it sent, refused or not."""
        return [line.type for line in self.of("sent", "refused")]

    @property
    def refused(self) -> Fact | None:
        """Why the first event that was refused was refused."""
        for line in self.of("refused"):
            return line.why
        return None

    @property
    def message(self) -> str:
        """The message of the last failure."""
        message = ""
        for line in self.of("sent", "refused"):
            if line.type.endswith(".failed"):
                message = line.text
        return message

    @property
    def shutdown_sent(self) -> bool:
        """Whether lifespan.shutdown was sent to it."""
        return any(line.type == SHUTDOWN for line in self.of("offered"))

    @property
    def has_state(self) -> bool:
        """Whether the state had keys at the end."""
        return any(line.type for line in self.of("over"))

    def span(self, phase: str) -> tuple[float, float]:
        """Return when it was asked, and when it answered."""
        asked = self.of("called" if phase == "startup" else "offered")
        if asked:
            for line in self.of("sent"):
                if line.type.startswith(f"lifespan.{phase}."):
                    return asked[-1].time, line.time
        return 0.0, 0.0

    def moment(self, time: float) -> str:
        """Return in which moment a time is: importing, starting, serving, request or stopping."""
        now = "importing"
        for line in self.log:
            if line.time > time:
                continue
            if line.kind == "called":
                now = "request" if line.call else "starting"
            else:
                now = MOMENTS.get((line.kind, line.type), now)
        return now

    def answers(self, phase: str, how: str) -> None:
        """Note that startup or shutdown was answered, as complete or as failed."""
        when = PHASE_OF[self.course.state]
        kind = self.course.happens(f"lifespan.{phase}.{how}")
        self._keep(phase, Answer(how, when, kind))

    def settle(self, how: str) -> None:
        """Note that no other answer comes: the call has ended, or its time is over."""
        when = PHASE_OF.get(self.course.state)
        if when is None:  # the last answer was given
            return
        phase = "startup" if when == "startup" else "shutdown"
        known = self.startup if phase == "startup" else self.shutdown
        if known.how:  # its time was over before its call ended
            return
        kind = self.course.happens(how)
        self._keep(phase, Answer(how, when, kind))

    def _keep(self, phase: str, answer: Answer) -> None:
        if phase == "startup":
            self.startup = answer
        else:
            self.shutdown = answer

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The message sequence, with the requests meanwhile."""
        lines = [line for line in self.log if line.side == "server"]
        return entries(lines, lines[0].time if lines else 0.0)


class Supervisor(NamedTuple):
    """What follows a call from outside of its event loop.

    `publish` is called with what was seen whenever there is more, `arm` with the seconds that the
    event loop may be blocked from now on, and `stops` before the application is told to stop.
    """

    publish: Callable[[Observation], object] = lambda _: None
    arm: Callable[[float], object] = lambda _: None
    stops: Callable[[], object] = lambda: None


# ---- the log of middleware ----------------------------------------------------------------------


def plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value as data; of an object that is none, which one it is.

    `around` are the containers that it is in: one that is in itself is shown once.
    """
    if type(value) in DATA:
        return value
    if id(value) in around or len(around) > DEEPEST:
        return "..."
    inside = (*around, id(value))
    if issubclass(type(value), dict | MappingProxyType):  # `isinstance` would ask the value
        return {text_of(key): plain(part, inside) for key, part in value.items()}
    if type(value) in (list, tuple):
        return [type(value).__name__, *(plain(part, inside) for part in value)]
    return f"{type(value).__name__} {id(value)}"


def parts_of(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """Yield which exception it is, and which ones a group has."""
    waiting = [("", error)] if error is not None else []
    while waiting:
        name, part = waiting.pop()
        yield name, id(part)
        if isinstance(part, BaseExceptionGroup):  # which cannot hold itself
            waiting += [(f"{name}.{number}", inner) for number, inner in enumerate(part.exceptions)]
