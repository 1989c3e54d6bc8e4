"""What a watched process waits for, as facts: judged from what its agent has written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.stacks import Raised
from lifespec.watch.watched import Process, was_cancelled

LINES, REQUESTS = 4, 5  # that are shown


class Cause(NamedTuple):
    """What startup or shutdown waits for: a fact, what belongs to it, and what was raised.

    `same` is what makes it another cause, so that it is told anew: not how long it lasts.
    """

    kind: str
    same: object
    fact: Fact
    rows: Sequence[Fact] = ()
    error: Error | None = None
    server: str = ""

    @property
    def advice(self) -> Fact | None:
        """What to change."""
        known = self.error and advice.on_error(self.error)
        return known or advice.on(self.fact, self.kind, self.server, error=self.error)


# ---- parts of sentences ------------------------------------------------------------------------


def at(lines: Sequence[Any]) -> Place | None:
    """Return the innermost place of lines, of a library if there is none of the author's."""
    if not lines:
        return None
    file, line, function, own = lines[-1]
    if own:
        return Place.at(function, file, line)
    return Place(function, "/".join(Path(file).parts[-2:]), line)


def sources(lines: Sequence[Any]) -> list[Fact]:
    """Return the author's lines with what stands there."""
    own = [Place.at(name, file, line) for file, line, name, is_own in lines if is_own]
    return [fact("source", **each._asdict()) for each in own[-LINES:] if each.source]


def error(found: Mapping[str, Any] | None, text: str = "") -> Fact:
    """Return an exception as part of a sentence, or what was sent in its place."""
    if not found:
        line = next(reversed(text.strip().splitlines()), "").strip()
        return fact("text", text=line) if line else Fact("no-message")
    return _error(found).fact()


def _error(found: Mapping[str, Any]) -> Error:
    chain = tuple(Raised(*each) for each in found.get("chain", ()))
    return Error(found["type"], found["text"], at(found["lines"]), chain)


def handler(process: Process, signal: str) -> Fact | None:
    """Return the author's own handler of a signal, if there is one."""
    lines = process.look.get("handlers", {}).get(signal)
    place = at([[*lines, True]]) if lines else None
    return place.fact() if place else None


def _busy(process: Process) -> Sequence[Any]:
    """Return the author's lines at which a loop has been blocked for a second, if it is."""
    blocked = process.look.get("blocked") or ()
    found = (lines for seconds, lines in blocked if seconds >= 1 and lines and lines[-1][-1])
    return next(found, ())


# ---- what is waited for ------------------------------------------------------------------------


def causes(process: Process, lasted: Callable[[float], float], after: float) -> Iterator[Cause]:
    """Yield what its startup or shutdown waits for, the decisive first.

    `lasted` returns the seconds since a moment.  Nothing is a cause that has not lasted `after`
    seconds.
    """
    process.infer()
    yield from events(process)
    look, silent = process.look, lasted(process.seen())
    if look and silent > after + 1 and not process.is_over:
        yield Cause("silent", "", fact("watch-silent", seconds=int(silent)))
        return
    called = process.time("called")
    if called and not process.answered:
        if lasted(called) > after:
            yield from _waits(process, "startup", int(lasted(called)))
        return
    if look.get("importing") and not process.has_server and look["for"] >= after:
        place = at(look["main"])
        if place and look["main"][-1][-1]:
            what = fact("watch-importing", module=look["importing"], seconds=look["for"])
            yield Cause("importing", place, what.at(place))
    if (begun := process.stopped) and process.has_server and lasted(begun) > after:
        yield from _shutdown(process, int(lasted(min(begun, process.told_to_end or begun))))


def events(process: Process) -> Iterator[Cause]:
    """Yield what is told at once."""
    failed, raised = map(process.events.get, ("lifespan.startup.failed", "raised"))
    server: Any = process.server.capitalize()
    if failed:
        yield _failed("failed", failed)
    elif raised and process.has_crashed:
        found = _error(raised["error"])
        yield Cause("crashed", "", fact("watch-crashed", error=found.fact()), (), found)
    elif raised and was_cancelled(raised):
        if not process.has_started:
            place = at(raised["error"]["lines"]) or at(process.kept)
            what = fact("watch-startup-cut-off", server=server)
            yield Cause("startup cut off", place, what.at(place))
    elif raised and not process.has_started:
        what = error(raised["error"])
        kind = "raised" if raised["received"] else "unsupported"
        own = None if raised["received"] else _error(raised["error"])
        yield Cause(kind, what, fact(f"watch-{kind}", error=what, server=server), (), own)
    yield from _not_stopped(process)
    if "no-lifespan" in process.events:
        yield Cause("never", "", fact("watch-never", server=server))
    for each in process.died:
        what = fact("watch-died", task=each["task"], error=error(each["error"]))
        yield Cause(f"died {each['time']}", "", what)


def _not_stopped(process: Process) -> Iterator[Cause]:
    """Yield why clean-up failed."""
    ended, raised = map(process.events.get, ("lifespan.shutdown.failed", "raised"))
    if not ended and raised and "shutdown" in process.events and process.has_started:
        ended = None if process.has_crashed or was_cancelled(raised) else raised
    if ended and not was_cancelled(ended):
        yield _failed("not-stopped", ended)


def _failed(kind: str, event: Mapping[str, Any]) -> Cause:
    """Return that a phase failed, with the exception or what was sent in its place."""
    what = error(event["error"], event.get("text", ""))
    found = _error(event["error"]) if event["error"] else None
    return Cause(kind, what, fact(f"watch-{kind}", error=what), (), found)


def _waits(process: Process, phase: str, seconds: int) -> Iterator[Cause]:
    """Yield what a call waits for; nothing if it runs just now, or is over."""
    call = process.call
    if call is None:
        return
    if lines := _busy(process):
        doing = Fact("doing-blocked")
    elif call["runs"]:
        return
    else:
        doing, lines = Fact("doing-idle" if call["asks"] else "doing-running"), call["lines"]
    what = fact(f"watch-{phase}", seconds=seconds, doing=doing.at(at(lines), "doing-at"))
    yield Cause(phase, (doing, at(lines)), what, sources(lines))


def _shutdown(process: Process, seconds: int) -> Iterator[Cause]:
    look = process.look
    server: Any = process.server.capitalize() or Fact("the-server")
    if not look.get("loops") and "threads" in look:
        yield from _staying(process, server)
    elif "shutdown" in process.events and not process.is_over and process.call:
        yield from _waits(process, "shutdown", seconds)
    elif lines := _busy(process):
        doing = Fact("doing-blocked").at(at(lines), "doing-at")
        what = fact("watch-blocked", seconds=seconds, doing=doing)
        yield Cause("blocked", at(lines), what, sources(lines))
    elif requests := look.get("requests"):
        kind = "watch-requests" if look["all"] else "watch-requests-at-least"
        what = fact(kind, seconds=seconds, server=server, count=look["open"])
        rows = tuple(_request(*each) for each in requests[:REQUESTS])
        same = tuple((method, path, at(lines)) for method, path, _age, lines in requests[:REQUESTS])
        yield Cause("requests", same, what, rows, server=process.server)


def _request(method: str, path: str, age: int | None, lines: Sequence[Any]) -> Fact:
    """Return an open request, with where it is."""
    place = at(lines)
    parts: dict[str, Any] = {"method": method, "path": path, "age": age}
    if place is None:
        return fact("watch-request-bare", **parts)
    kind = "watch-request" if age is not None else "watch-request-young"
    return fact(kind, place=place.fact(), source=place.source, **parts)


def _staying(process: Process, server: Any) -> Iterator[Cause]:
    """Yield what keeps a process whose event loop has ended."""
    look = process.look
    held = [("thread", *each) for each in look["threads"]]
    for kind, name, lines in held or [("child", each, ()) for each in look["children"]]:
        what = fact(f"watch-{kind}", name=name).at(at(lines))
        what = fact("watch-stays", server=server, what=what)
        yield Cause(f"{kind} {name}", "", what, sources(lines)[-1:])
    main = look["main"]
    if main and main[-1][-1] and not held:
        what = Fact("doing-running").at(at(main), "doing-at")
        yield Cause("main", at(main), fact("watch-stays", server=server, what=what), sources(main))


def cut_off(process: Process) -> Iterator[Cause]:
    """Yield where the clean-up was if its process has ended without an answer."""
    if not process.is_hooked:  # an answer between two looks was not seen
        return
    failed = process.events.get("lifespan.shutdown.failed")
    cancelled = failed if failed and was_cancelled(failed) else None
    raised = cancelled or process.events.get("raised")
    if process.has_crashed or (raised and not was_cancelled(raised)):
        return
    if "shutdown" in process.events and (cancelled or not process.is_over):
        place = at(raised["error"]["lines"] if raised else ()) or at(process.kept)
        if place:
            what = fact("watch-cut-off", place=place.fact())
            yield Cause("cut off", place, what)
    elif process.has_started and "shutdown" not in process.events:
        what = fact("watch-left-out", server=process.server.capitalize())
        yield Cause("left out", "", what)
