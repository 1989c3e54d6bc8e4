"""What a watched process waits for, as facts: judged from what its agent has written."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from lifespec.diagnosis import advice
from lifespec.diagnosis.author import own_failure
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.guard import OwnFailure
from lifespec.diagnosis.stacks import ErrorData
from lifespec.watch import seen
from lifespec.watch.group import is_stopped
from lifespec.watch.seen import At, Blocked, CallState, Look, Request, Thread, is_own
from lifespec.watch.watched import STARTS, Ended, WatchedProcess, interrupt_of

MOST_LINES, MOST_REQUESTS = 4, 5  # that are shown
BLOCKED_FROM = 1  # seconds from which on an event loop is called blocked
LASTING = {"startup": "startup-lasts", "shutdown": "clean-up-lasts"}  # by what the lifespan is at
HELD = ("process-held",)  # for advice
OF_SERVERS = ("raised-late",)  # whose advice is about what the server makes of it


class Cause(NamedTuple):
    """What startup or shutdown waits for: a fact, what belongs to it, and what was raised.

    `identity` tells it from another cause of its kind, which is told anew: not how long it lasts.
    """

    kind: str
    identity: object
    fact: Fact
    rows: Sequence[Fact] = ()
    error: Error | None = None
    where: Sequence[str] = ()  # for advice: the server, the phase, what is awaited

    @property
    def advice(self) -> Fact | None:
        """What to change."""
        if self.error:
            of_error = advice.on_error(self.error)
            if of_error:
                return of_error
        return advice.on(self.fact, *self.where, error=self.error)


# ---- parts of sentences ------------------------------------------------------------------------


def at(lines: Sequence[At]) -> Place | None:
    """Return the innermost place of lines, of a library if there is none of the author's."""
    if not lines:
        return None
    file, line, function, _own = lines[-1]
    return Place.at(function, file, line)


def source_lines(lines: Sequence[At]) -> list[Fact]:
    """Return the author's lines with what stands there, or else those of libraries."""
    shown: Sequence[At] = [line for line in lines if line.own]
    if not shown:
        shown = lines
    rows = []
    for line in shown[-MOST_LINES:]:
        place = Place.at(line.function, line.file, line.line)
        if place.source:  # a program of `python -c` has none, say
            rows.append(fact("source", **place._asdict()))
    return rows


def error_fact(error: seen.WrittenError | None, text: str) -> Fact:
    """Return an exception as part of a sentence, or what was sent in its place."""
    if error:
        return as_error(error).fact()
    lines = text.strip().splitlines()
    if not lines:
        return Fact("no-message")
    return fact("text", text=lines[-1].strip())  # of a traceback the exception


def as_error(error: seen.WrittenError) -> Error:
    """Return an exception as the diagnosis knows it."""
    chain = tuple(ErrorData(*raised) for raised in error.chain)
    return Error(error.type, error.text, at(error.lines), chain)


def server_of(process: WatchedProcess) -> Fact | str:
    """Return the name of a process's server at the beginning of a sentence or within it."""
    if not process.server:
        return Fact("the-server")
    return process.server.capitalize()


def handler(process: WatchedProcess, signal: str) -> Fact | None:
    """Return the author's own handler of a signal, if there is one."""
    place = process.handlers.get(signal)
    if place is None:
        return None
    file, line, function = place
    return Place.at(function, file, line).fact()


def blocked(look: Look) -> Blocked | None:
    """Return where the author's code has blocked a loop for a second, and how, if it does."""
    for loop in look.blocked:
        if loop.seconds >= BLOCKED_FROM and is_own(loop.lines):
            return loop
    return None


# ---- what is told at once ----------------------------------------------------------------------


def events(process: WatchedProcess) -> Iterator[Cause]:
    """Yield what has happened to the lifespan, and what else is told at once."""
    for number, end in enumerate(process.endings):
        yield _cause_of_end(process, end, number)
    for line in process.lines:
        if isinstance(line, seen.Failed):
            failure = OwnFailure(*line.failure)
            yield Cause("own-failure", failure[2:], own_failure(failure))


def _cause_of_end(process: WatchedProcess, end: Ended, number: int) -> Cause:
    """Return the cause for a kind of `course`; `number` is that of the end in its process."""
    kind, line = end
    if kind == "clean-up-cut-off":
        return _clean_up_cut_off(process)
    if kind == "startup-cut-off":
        place = _cancelled_at(line)
        if place is None:  # only seen there
            place = at(process.phase_lines)
        return Cause(kind, place, fact(kind, server=server_of(process)).at(place))
    if isinstance(line, seen.Died):
        died = fact(kind, task=f"`{line.task}`", error=error_fact(line.error, ""))
        return Cause(kind, number, died)
    if isinstance(line, seen.Left):
        place = at(line.lines)
        status = fact("exit-status", status=line.status)
        return Cause(kind, place, fact(kind, exit=status.at(place)))
    if isinstance(line, seen.Sent | seen.Raised):
        return _failure(kind, line)
    return _of_server(process, kind, line)


def _of_server(process: WatchedProcess, kind: str, line: "seen.Happening | None") -> Cause:
    """Return what is its server's doing."""
    if isinstance(line, seen.Shutdown) and line.error:
        error = as_error(line.error)
        stops = fact(kind, server=server_of(process), error=error.fact())
        return Cause(kind, "", stops, error=error)
    return Cause(kind, "", fact(kind, server=server_of(process)))


def _failure(kind: str, line: seen.Sent | seen.Raised) -> Cause:
    """Return that an application has raised an exception, or sent that it failed."""
    text, error = "", line.error
    if isinstance(line, seen.Sent):
        text = line.text
    if kind == "interrupted-early":
        error = interrupt_of(error)
    failure = error_fact(error, text)
    part = "error"
    if kind == "failed-early":
        part = "failure"
    advised = None
    if error and kind not in OF_SERVERS:
        advised = as_error(error)
    return Cause(kind, failure, Fact(kind, {part: failure}), error=advised)


def _cancelled_at(line: "seen.Happening | None") -> Place | None:
    """Return the author's line in the exception that a call has ended with, if there is one."""
    if not isinstance(line, seen.Sent | seen.Raised):
        return None
    if line.error is None:
        return None
    return at(line.error.lines)


def _clean_up_cut_off(process: WatchedProcess) -> Cause:
    """Return where the clean-up was when its process ended without an answer.

    That is where it was cancelled, or where it was seen during clean-up; never where it was before.
    """
    place = None
    for line in process.lines:
        if isinstance(line, seen.Shutdown):
            place = None
        else:
            place = _cancelled_at(line) or place
    if place is None:
        place = at(process.phase_lines)
    if place is None:
        return Cause("clean-up-cut-off", "", Fact("clean-up-cut-off-somewhere"))
    return Cause("clean-up-cut-off", place, fact("clean-up-cut-off", place=place.fact()))


# ---- what is waited for ------------------------------------------------------------------------


def causes(
    process: WatchedProcess, lasted: Callable[[float], float], after: float
) -> Iterator[Cause]:
    """Yield what its startup or shutdown waits for, the decisive first.

    `lasted` returns the seconds since a moment.  Nothing is a cause that has not lasted `after`
    seconds.
    """
    yield from events(process)
    look = process.look
    if look is None:
        return
    if not process.has_server:
        if process.ending is None and look.still >= after:
            yield from _begins_late(look)
        return
    if process.ending is not None:  # what was looked at before that is so no more
        seconds = lasted(process.ending)
        if seconds > after:
            ends = fact("interpreter-ends", server=server_of(process), seconds=int(seconds))
            yield Cause("interpreter", "", ends)
        return
    silent = lasted(process.looked_at())
    # an agent that rests looks once a second
    if silent > after + 1 and process.state != "over":
        yield _silent(process, int(silent))
    elif process.state in STARTS:
        seconds = lasted(process.times["called"])
        if seconds > after:
            yield from _waits(process, look, "startup", int(seconds))
    else:
        yield from _stops(process, look, lasted, after)


def _begins_late(look: Look) -> Iterator[Cause]:
    """Yield where a process is that has neither called an application nor begun to serve."""
    place = at(look.main)
    if look.importing and (look.unserved or is_own(look.main)):
        importing = fact("importing", module=look.importing, seconds=look.still)
        yield Cause("importing", place, importing.at(place))
    elif look.unserved:
        unserved = fact("unserved", seconds=look.still)
        yield Cause("unserved", place, unserved.at(place), source_lines(look.main))


def _stops(
    process: WatchedProcess, look: Look, lasted: Callable[[float], float], after: float
) -> Iterator[Cause]:
    """Yield what keeps a server from its end, once it stops."""
    begun = process.stopped
    if begun and lasted(begun) > after:
        if process.told_to_end:  # it may have begun to stop later than it was told to
            begun = min(begun, process.told_to_end)
        yield from _shutdown(process, look, int(lasted(begun)))
    elif look.threads is not None and look.still >= after:  # it has stopped, and nobody told it to
        yield from _staying(process, look, look.threads)


def _silent(process: WatchedProcess, seconds: int) -> Cause:
    """Return why the agent has not looked for so long."""
    if is_stopped(process.pid):
        return Cause("suspended", "", fact("suspended", pid=process.pid))
    return Cause("silent", "", fact("silent", seconds=seconds))


def _waits(process: WatchedProcess, look: Look, phase: str, seconds: int) -> Iterator[Cause]:
    """Yield what the lifespan waits for, or what is in its way."""
    call = process.call
    loop = blocked(look)
    if loop:
        doing, lines = Fact(f"doing-{loop.kind}"), loop.lines
    elif call is None or call.runs:
        if look.loops or not look.main or look.still < BLOCKED_FROM:
            return  # it goes on
        doing, lines = Fact("doing-main"), look.main
    else:
        doing, lines = _doing(call), call.lines
    lasts = fact(LASTING[phase], seconds=seconds, doing=doing.at(at(lines), "doing-at"))
    yield Cause(phase, (doing, at(lines)), lasts, source_lines(lines), where=(phase,))


def _doing(call: CallState) -> Fact:
    """Return what a call does that neither runs just now nor is over."""
    if call.asks:
        return Fact("doing-idle")
    if call.awaits:
        return Fact(f"doing-awaits-{call.awaits}")
    return Fact("doing-running")


def _shutdown(process: WatchedProcess, look: Look, seconds: int) -> Iterator[Cause]:
    loop = blocked(look)
    if look.threads is not None:
        yield from _staying(process, look, look.threads)
    elif process.state in ("cleaning", "cut") and process.call:
        yield from _waits(process, look, "shutdown", seconds)
    elif loop:
        doing = Fact(f"doing-{loop.kind}").at(at(loop.lines), "doing-at")
        lasts = fact("shutdown-lasts", seconds=seconds, doing=doing)
        yield Cause("blocked", at(loop.lines), lasts, source_lines(loop.lines))
    elif look.requests:
        yield _open_requests(process, look, seconds)


def _open_requests(process: WatchedProcess, look: Look, seconds: int) -> Cause:
    """Return the requests that a server waits for, and the tasks that follow their responses."""
    shown = look.requests[:MOST_REQUESTS]
    kind = "open-requests"
    if all(request.background for request in shown):
        kind = "open-background"
    elif any(request.background for request in shown):
        kind = "open-requests-and-background"
    count: Any = look.open
    if not look.all:
        count = fact("or-more", count=look.open)
    lasts = fact(kind, seconds=seconds, server=server_of(process), count=count)
    identity = tuple((request.method, request.path, at(request.lines)) for request in shown)
    rows = tuple(_request(request) for request in shown)
    return Cause("requests", identity, lasts, rows, where=_limits(process, shown))


def _limits(process: WatchedProcess, requests: Sequence[Request]) -> Sequence[str]:
    """Return whose limit may end open requests, for `advice`: of a server, on a Python."""
    if all(request.thread for request in requests):
        return ("in-threads",)
    server = process.server
    if process.host == "gunicorn":
        server = "gunicorn"
        if process.told_to_end is None:  # this worker alone stops: a reload, or its limit
            server = "gunicorn, asgi"
            if process.server == "uvicorn":
                server = "gunicorn, uvicorn-worker"
    return server, f"{server} {process.python}"


def _request(request: Request) -> Fact:
    """Return an open request, with where it is."""
    place = at(request.lines)
    path: Any = request.path
    if request.background:
        path = fact("background-of", path=request.path)
    parts: dict[str, Any] = {"method": request.method, "path": path, "age": request.age}
    if place is None:
        return fact("open-request-bare", **parts)
    kind = "open-request"
    if request.age is None:
        kind = "open-request-young"
    return fact(kind, place=place.fact(), source=place.source, **parts)


def _staying(process: WatchedProcess, look: Look, threads: Sequence[Thread]) -> Iterator[Cause]:
    """Yield what keeps a process whose event loop has ended."""
    for thread in threads:
        name = fact("text", text=thread.name).at(at(thread.lines))
        stays = _process_stays(process, fact("thread-left", name=name))
        rows = source_lines(thread.lines)[-1:]
        yield Cause(f"thread {thread.name}", "", stays, rows, where=HELD)
    if threads:
        return
    for child in look.children:
        stays = _process_stays(process, fact("process-left", name=child))
        yield Cause(f"child {child}", "", stays, where=HELD)
    if is_own(look.main):
        stays = _process_stays(process, Fact("doing-running").at(at(look.main), "doing-at"))
        yield Cause("main", at(look.main), stays, source_lines(look.main))


def _process_stays(process: WatchedProcess, by: Fact) -> Fact:
    """Return that a process stays although its server has ended, and what keeps it."""
    return fact("process-stays", server=server_of(process), what=by)
