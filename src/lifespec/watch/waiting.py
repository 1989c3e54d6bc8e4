"""What a watched process waits for, as facts: judged from what its agent has written."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.stacks import ErrorData
from lifespec.watch import seen
from lifespec.watch.group import is_stopped
from lifespec.watch.seen import At, Blocked, Look, Request
from lifespec.watch.watched import STARTS, Ended, WatchedProcess

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


def error_fact(error: seen.WrittenError | None, text: str = "") -> Fact:
    """Return an exception as part of a sentence, or what was sent in its place."""
    if error:
        return as_error(error).fact()
    lines = text.strip().splitlines()
    if not lines:
        return Fact("no-message")
    return fact("text", text=lines[-1].strip())  # of a traceback the exception


def as_error(error: seen.WrittenError) -> Error:
    """Return an exception as the diagnosis knows it."""
    chain = tuple(ErrorData(*each) for each in error.chain)
    return Error(error.type, error.text, at(error.lines), chain)


def own_failure(failure: tuple[str, str, str, int, str]) -> Fact:
    """Return that something of lifespec has failed."""
    type_, text, file, line, function = failure
    place = Place.at(function, file, line)
    return fact("own-failure", error=Error(type_, text, None).fact(), place=place.fact())


def server_of(process: WatchedProcess) -> Any:
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


def blocked(process: WatchedProcess) -> Blocked | None:
    """Return where the author's code has blocked a loop for a second, and how, if it does."""
    if process.look is None:
        return None
    for loop in process.look.blocked:
        if loop.seconds >= BLOCKED_FROM and _is_own(loop.lines):
            return loop
    return None


def _is_own(lines: Sequence[At]) -> bool:
    """Tell whether the innermost of some lines is the author's."""
    return bool(lines) and lines[-1].own


# ---- what is told at once ----------------------------------------------------------------------


def events(process: WatchedProcess) -> Iterator[Cause]:
    """Yield what has happened to the lifespan, and what else is told at once."""
    for number, end in enumerate(process.endings):
        yield _cause_of_end(process, end, number)
    for line in process.lines:
        if isinstance(line, seen.Failed):
            yield Cause("own-failure", line.failure[2:], own_failure(line.failure))


def _cause_of_end(process: WatchedProcess, end: Ended, number: int) -> Cause:
    """Return the cause for a kind of `course`; `number` is that of the end in its process."""
    kind, line = end
    if kind == "clean-up-cut-off":
        return _cut_off(process)
    error, text = None, ""
    if isinstance(line, seen.Sent | seen.Raised | seen.Died):
        error = line.error
    if isinstance(line, seen.Sent):
        text = line.text
    failure = error_fact(error, text)
    if isinstance(line, seen.Died):
        return Cause(kind, number, fact(kind, task=f"`{line.task}`", error=failure))
    if isinstance(line, seen.Left):
        place = at(line.lines)
        status = fact("exit-status", status=line.status)
        return Cause(kind, place, fact(kind, exit=status.at(place)))
    if kind == "startup-cut-off":
        place = at(process.phase_lines)
        if error and error.lines:  # where it was cancelled, and not only seen
            place = at(error.lines)
        return Cause(kind, place, fact(kind, server=server_of(process)).at(place))
    if error is None and not isinstance(line, seen.Sent):  # the server's doing
        return Cause(kind, "", fact(kind, server=server_of(process)))
    advised = None
    if error and kind not in OF_SERVERS:
        advised = as_error(error)
    part = "failure" if kind == "failed-early" else "error"
    return Cause(kind, failure, Fact(kind, {part: failure}), error=advised)


def _cut_off(process: WatchedProcess) -> Cause:
    """Return where the clean-up was when its process ended without an answer.

    That is where it was cancelled, or where it was seen during clean-up; never where it was before.
    """
    place = at(process.phase_lines)
    for line in process.lines:
        if isinstance(line, seen.Shutdown):
            place = at(process.phase_lines)
        elif isinstance(line, seen.Sent | seen.Raised):
            if line.error and line.error.lines:
                place = at(line.error.lines)
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
    if process.ending is not None:
        if process.has_server and lasted(process.ending) > after:
            yield _interpreter_ends(process, int(lasted(process.ending)))
        return
    silent = lasted(process.seen())
    called = process.times.get("called")
    if silent > after + 1 and process.has_server and process.state != "over":
        yield _silent(process, int(silent))
    elif called and process.state in STARTS:
        if lasted(called) > after:
            yield from _waits(process, look, "startup", int(lasted(called)))
    elif process.has_server:
        yield from _stops(process, look, lasted, after)
    elif look.still >= after:
        yield from _begins_late(look)


def _begins_late(look: Look) -> Iterator[Cause]:
    """Yield where a process is that has neither called an application nor begun to serve."""
    place = at(look.main)
    if look.importing and _is_own(look.main):
        importing = fact("importing", module=look.importing, seconds=look.still)
        yield Cause("importing", place, importing.at(place))
    elif look.unserved:
        unserved = fact("unserved", seconds=look.still)
        yield Cause("unserved", place, unserved.at(place), source_lines(look.main))


def _interpreter_ends(process: WatchedProcess, seconds: int) -> Cause:
    ends = fact("interpreter-ends", server=server_of(process), seconds=seconds)
    return Cause("interpreter", "", ends)


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
        yield from _staying(process, look)


def _silent(process: WatchedProcess, seconds: int) -> Cause:
    """Return why the agent has not looked for so long."""
    if is_stopped(process.pid):
        return Cause("suspended", "", fact("suspended", pid=process.pid))
    return Cause("silent", "", fact("silent", seconds=seconds))


def _waits(process: WatchedProcess, look: Look, phase: str, seconds: int) -> Iterator[Cause]:
    """Yield what the lifespan waits for, or what is in its way."""
    call = process.call
    loop = blocked(process)
    if loop:
        doing, lines = Fact(f"doing-{loop.kind}"), loop.lines
    elif call is None or call.runs:
        if look.loops or not look.main or look.still < BLOCKED_FROM:
            return  # it goes on
        doing, lines = Fact("doing-main"), look.main
    else:
        lines = call.lines
        doing = Fact("doing-running")
        if call.asks:
            doing = Fact("doing-idle")
        elif call.awaits:
            doing = Fact(f"doing-awaits-{call.awaits}")
    lasts = fact(LASTING[phase], seconds=seconds, doing=doing.at(at(lines), "doing-at"))
    yield Cause(phase, (doing, at(lines)), lasts, source_lines(lines), where=(phase,))


def _shutdown(process: WatchedProcess, look: Look, seconds: int) -> Iterator[Cause]:
    loop = blocked(process)
    if not look.loops and look.threads is not None:
        yield from _staying(process, look)
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


def _staying(process: WatchedProcess, look: Look) -> Iterator[Cause]:
    """Yield what keeps a process whose event loop has ended."""
    for thread in look.threads or ():
        name = fact("text", text=thread.name).at(at(thread.lines))
        stays = _process_stays(process, fact("thread-left", name=name))
        rows = source_lines(thread.lines)[-1:]
        yield Cause(f"thread {thread.name}", "", stays, rows, where=HELD)
    if not look.threads:
        for child in look.children:
            stays = _process_stays(process, fact("process-left", name=child))
            yield Cause(f"child {child}", "", stays, where=HELD)
    if _is_own(look.main) and not look.threads:
        stays = _process_stays(process, Fact("doing-running").at(at(look.main), "doing-at"))
        yield Cause("main", at(look.main), stays, source_lines(look.main))


def _process_stays(process: WatchedProcess, by: Fact) -> Fact:
    """Return that a process stays although its server has ended, and what keeps it."""
    return fact("process-stays", server=server_of(process), what=by)
