"""Plays the script of a case to an application, each part in an event loop of its own."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import traceback
from contextlib import contextmanager, nullcontext, suppress
from time import monotonic  # the real one, also while the clocks are moved
from typing import TYPE_CHECKING, Any

from lifespec import limits, validate
from lifespec.conformance.app import waiting
from lifespec.conformance.app.fake_server import BLOCKED, IDLE, AppObservation, Call
from lifespec.conformance.cases import scope_of
from lifespec.conformance.texts import said
from lifespec.conformance.transports import transport
from lifespec.testing import clock, places, tasks
from lifespec.testing.trace import Conversation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from lifespec.conformance.cases import Action, Case

    Application = Callable[[Any, Any, Any], Awaitable[Any]]
    Deed = Callable[["_Player", Action], Awaitable[bool]]

__all__ = ["GRACE", "WORDS", "play"]

GRACE = 5.0  # seconds for a call that was cancelled


def play(
    app: Application,
    case: Case,
    spec: str,
    limit: float,
    *,
    real: bool,
    own: str = "",
    spoken: Callable[[], Conversation] = Conversation,
) -> list[AppObservation]:
    """Play a case; return what was seen of each lifespan, in their order.

    `limit` is how many seconds an answer may take, on the virtual clock or in real time.  `own` is
    the package that is checked.  `spoken` makes what a message sequence is written to.  Raises
    RuntimeError inside of an event loop.
    """
    _outside()
    script = case.server or case.script
    players = [(part, _Player(Call(app, spoken()), spec, limit, own)) for part in _parts(script)]
    return [_in_a_loop(player, part, real=real) for part, player in players]


def _outside() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("a check has event loops of its own: start it outside, or in a thread")


def _parts(script: Sequence[Action]) -> Iterator[list[Action]]:
    part: list[Action] = []
    for action in script:
        if action.verb == "loop":
            yield part
            part = []
        else:
            part.append(action)
    yield part


def _in_a_loop(player: _Player, actions: Sequence[Action], *, real: bool) -> AppObservation:
    """Play one part; what it leaves behind in the loop is cancelled, and not waited for.

    Who blocks the loop does so in real time on either clock.
    """
    limit, seen = player.limit, player.call.seen
    loop = asyncio.new_event_loop() if real else _Clock(player.own)
    loop.set_exception_handler(lambda *_: None)
    tasks.note_makers(loop, player.own)
    longest = limit * 4 + GRACE * 2 if real else limit + GRACE
    try:
        with _interruptible(), limits.limited(longest), _moved(loop):
            loop.run_until_complete(player.play(actions))
    except _Interrupted:
        raise KeyboardInterrupt from None
    except limits.LimitPassed as stopped:
        player.silent(BLOCKED, traceback.walk_tb(stopped.__traceback__))
        player.call.cancel()  # in the sweep
        if not real and monotonic() - player.began < limit:
            seen.doubt = "the application blocked the event loop"
    except (SystemExit, KeyboardInterrupt) as exit_:
        player.call.gone("exited", exit_)
    except RuntimeError as error:
        seen.doubt = str(error)  # the loop itself came to an end
    finally:
        _sweep(loop)
    if refused := getattr(loop, "refused", ""):
        seen.doubt = f"{refused[0].lower()}{refused[1:].partition(':')[0]}"
    return seen


class _Clock(clock.VirtualLoop):
    """A virtual clock that knows what an application did after it had jumped, or while it spun."""

    def __init__(self, own: str) -> None:
        super().__init__()
        self.watch, self.watched = waiting.Watch(own), False

    def select(self, timeout: float | None) -> tuple[()]:
        """Move the clock, and watch from the first time on."""
        before = self.time()
        found = super().select(timeout)
        if not self.watched and (self.time() > before or self._busy >= clock.BUSY - clock.AGAIN):
            self.watched = True
            self.watch.begin(asyncio.all_tasks(self))
        return found

    def doubt(self, *, idle: bool) -> str:
        """Say why what came of a wait may come otherwise in real time, or ""."""
        if not self.watched:
            return ""
        found = self.watch.end(asyncio.all_tasks(self))
        if waiting.other_threads(all_of_them=not idle):
            return "there are threads that the application may have waited for"
        return found


@contextmanager
def _moved(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have the clocks go with a virtual one, and watch nobody any more."""
    before = sys.getprofile()
    try:
        with waiting.moved_clocks(loop.time) if isinstance(loop, _Clock) else nullcontext():
            yield
    finally:
        if isinstance(loop, _Clock):
            loop.watched = True  # the sweep is nobody's wait
        sys.setprofile(before)


class _Interrupted(limits.LimitPassed):
    """Somebody interrupts the suite: that is none of the application's doing."""


@contextmanager
def _interruptible() -> Iterator[None]:
    """Tell an interrupt from outside from one that the application raises."""

    def interrupt(*_: object) -> None:
        raise _Interrupted

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, interrupt) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _sweep(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left of the loop's tasks, whether they obey or not, and close it."""
    with suppress(Exception, KeyboardInterrupt, SystemExit), limits.limited(GRACE * 2):
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE))
        loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), GRACE))
    loop.close()


class _Player:
    """Carries out the lines of a script, as far as the application goes along."""

    def __init__(self, call: Call, spec: str, limit: float, own: str) -> None:
        self.call, self.spec, self.limit, self.own = call, spec, limit, own
        call.seen.limit = limit
        self.began = monotonic()

    async def play(self, actions: Sequence[Action]) -> None:
        """Carry out all, then end the call if it has not ended by then."""
        for action in actions:
            if not await _DEEDS[action.verb](self, action):
                break
        self.call.cancel()
        self.call.seen.obeyed = await self.call.until(lambda: bool(self.call.seen.ended), GRACE)
        if self.call.seen.shutdown == "complete":
            self.call.seen.left = await tasks.left(_is_the_applications)

    def silent(self, doing: str, frames: places.Frames, word: str = "") -> None:
        """Take it that the limit passed while the script waited for this."""
        seen = self.call.seen
        if word == "end":  # all is said, and no text says when to return
            return
        seen.doing, seen.place = doing, places.place(frames, self.own)
        how = "silent" if doing == IDLE else "hung"
        if not seen.startup:
            seen.startup = how
        elif self.call.asked and not seen.shutdown:
            seen.shutdown = how
        if word == "reaction" and not self.call.inbox:
            seen.reaction = "silent"

    async def begin(self, action: Action) -> bool:
        self.call.begin(scope_of(self.spec, action.keys))
        return True

    async def offer(self, action: Action) -> bool:
        """Put an event before the application, where it is still there to receive it."""
        if self.call.state in ("refused", "stopped", "gone"):
            return False
        self.call.put(action.event)
        return True

    async def wait_for(self, action: Action) -> bool:
        """Wait until something is so."""
        loop, seen = asyncio.get_running_loop(), self.call.seen
        self.began = monotonic()
        if isinstance(loop, _Clock):
            loop.watched = False  # what was before this wait is no matter
        found = await self.call.until(lambda: WORDS[action.text](self.call), self.limit)
        if isinstance(loop, _Clock):
            doubt = loop.doubt(idle=self.call.idle)
            well = {seen.startup, seen.shutdown} <= {"", "complete", "cancelled"}
            if not (found and well) and action.text != "end":
                seen.doubt = seen.doubt or doubt
        if found:
            if action.text == "reaction":
                seen.reaction = _reaction(self.call)
            return True
        self.silent(self.call.doing(), places.waiting(self.call.task), action.text)
        return False

    async def wait(self, action: Action) -> bool:
        await asyncio.sleep(action.seconds)
        return True

    async def cancel(self, _: Action) -> bool:
        self.call.cancel()
        return True

    async def request(self, _: Action) -> bool:
        """Call the application for a request, with its copy of the state."""
        call, note = self.call, self.call.note
        if call.state != "running":
            return False
        scope = _REQUESTS[transport(self.spec).request](self.spec)
        if call.seen.state is not None:
            scope["state"] = call.seen.state.copy()
        note("called", scope["type"])
        try:
            async with asyncio.timeout(self.limit):
                await call.validator(scope, _hears(scope), _says(note))
        except Exception as error:
            note("raised", type(error).__name__, said(error))
        else:
            note("returned")
        return True


def _is_the_applications(task: asyncio.Task[Any]) -> bool:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return not (frame and str(frame.f_globals.get("__name__")).startswith("lifespec."))


def _reaction(call: Call) -> str:
    if call.acted:
        return "sent"
    return call.seen.ended or "received"


def _hears(scope: Mapping[str, Any]) -> Callable[[], Awaitable[dict[str, Any]]]:
    kinds = iter(("request", "disconnect"))

    async def receive() -> dict[str, Any]:
        kind = next(kinds, "")
        await asyncio.sleep(0 if kind else 1)  # so that the limit ends who never stops asking
        return {"type": f"{scope['type']}.{kind or 'disconnect'}"}

    return receive


def _says(note: Callable[..., None]) -> Callable[[Any], Awaitable[None]]:
    async def send(event: Any) -> None:
        if event["type"] != "http.response.body":
            note("sent", event["type"], str(event.get("status", "")))

    return send


def _http(spec: str) -> dict[str, Any]:
    envelope = validate.SPECS[spec].envelope or "asgi"
    return {
        "type": "http",
        envelope: {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def _message(spec: str) -> dict[str, Any]:
    versions = {validate.SPECS[spec].envelope: dict(validate.SPECS[spec].versions)}
    return {"type": "message", **versions, "address": "lifespec", "headers": []}


_REQUESTS = {"http": _http, "message": _message}
_DEEDS: Mapping[str, Deed] = {
    "call": _Player.begin,
    "offer": _Player.offer,
    "await": _Player.wait_for,
    "wait": _Player.wait,
    "cancel": _Player.cancel,
    "request": _Player.request,
}
WORDS: Mapping[str, Callable[[Call], bool]] = {
    "received": lambda call: call.seen.received or bool(call.seen.ended),
    "startup": lambda call: bool(call.seen.startup),
    "shutdown": lambda call: bool(call.seen.shutdown or call.seen.ended),
    "reaction": lambda call: (
        bool(call.seen.ended) or (not call.inbox and (call.acted or call.idle))
    ),
    "end": lambda call: (
        bool(call.seen.ended) or (call.idle and call.state in ("refused", "stopped"))
    ),
}
