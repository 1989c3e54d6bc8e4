"""Scripts are played as far as the application goes along; nothing that it does ends the suite."""

import asyncio
import contextlib
import gc
import logging
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest

from lifespec.conformance.app import player, waiting
from lifespec.conformance.app.fake_server import AppObservation
from lifespec.conformance.app.player import play
from lifespec.conformance.cases import Case, action

__all__: list[str] = []

Application = Callable[[Any, Any, Any], Awaitable[Any]]
LOG = logging.getLogger("shop")
START = ["call", "offer lifespan.startup", "await startup"]
STOP = ["offer lifespan.shutdown", "await shutdown", "await end"]


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wait for tests not as long as for applications."""
    monkeypatch.setattr(player, "GRACE", 0.5)
    yield
    asyncio.set_event_loop(None)


def played(
    app: Application, *lines: str, spec: str = "asgi 2.0", limit: float = 10.0, real: bool = False
) -> list[AppObservation]:
    """Play these lines to an application."""
    script = tuple(action(line, "application") for line in lines)
    case = Case("quick", "application", "It is played.", script, ())
    return play(app, case, spec, limit, real=real)


async def live(scope: Any, receive: Any, send: Any) -> None:
    """Be an application that does all as it should."""
    if scope["type"] == "lifespan":
        await receive()
        scope.get("state", {})["pool"] = "open"
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})


def test_two_loops() -> None:
    """Each part has an event loop of its own, in their order."""
    loops = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        loops.append(asyncio.get_running_loop())
        await live(scope, receive, send)

    first, second = played(app, *START, *STOP, "loop", *START, *STOP)
    assert first.shutdown == second.shutdown == "complete"
    assert loops[0] is not loops[1]
    assert all(loop.is_closed() for loop in loops)


def test_who_lingers() -> None:
    """No text says when a call is to return: it is cancelled, and nobody is silent."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await live(scope, receive, send)
        await asyncio.sleep(1000)

    (seen,) = played(app, *START, *STOP)
    assert (seen.shutdown, seen.ended) == ("complete", "cancelled")
    assert (seen.doing, seen.doubt) == ("", "")


async def deadline() -> None:
    """Wait until a clock says so."""
    until = time.monotonic() + 5
    while time.monotonic() < until and time.time_ns():
        await asyncio.sleep(1)


async def retries() -> None:
    """Try again what fails at once, and log it."""
    while True:
        try:
            connect()
        except OSError:
            LOG.debug("not yet", exc_info=True)
            await asyncio.sleep(random.random())  # noqa: S311  that is jitter


def connect() -> None:
    """Be a connection that is refused."""
    raise ConnectionRefusedError


async def lets_wait() -> None:
    """Wait for another function of the same author."""
    await retries()


async def waits() -> None:
    """Wait for what the application alone could do."""
    await asyncio.Event().wait()


async def polls_a_file() -> None:
    """Wait for what others may do."""
    while not Path("ready").exists():  # noqa: ASYNC240  that is usual
        await asyncio.sleep(1)


async def polls_without_a_pause() -> None:
    """Look in each turn of the loop."""
    while not Path("ready").exists():  # noqa: ASYNC240  the same
        await asyncio.sleep(0)


async def polls_another_clock() -> None:
    """Wait for a clock that is not moved."""
    until = datetime.now(UTC) + timedelta(seconds=0.3)
    while datetime.now(UTC) < until:
        await asyncio.sleep(1)


async def uses_a_driver() -> None:
    """Name what is installed: what that does may not be seen, if it is in C."""
    while True:
        with contextlib.suppress(OSError):
            attrs.has(int)
        await asyncio.sleep(1)


async def uses_what_it_was_given(has: Callable[[Any], bool] = attrs.has) -> None:
    """Call what is installed, without its name."""
    while not has(int):
        await asyncio.sleep(1)


async def gives_up() -> None:
    """Try a few times, and raise."""
    for _ in range(3):
        try:
            socket.create_connection(("127.0.0.1", 1), 1).close()
        except OSError:
            await asyncio.sleep(1)
    raise TimeoutError


async def connects() -> None:
    """Try to open a socket of the loop's."""
    with socket.socket() as opened:
        while True:
            with contextlib.suppress(OSError, NotImplementedError):
                await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", 1))
            await asyncio.sleep(1)


@pytest.mark.parametrize(
    ("wait", "startup", "doubt"),
    [
        (deadline, "complete", ""),
        (retries, "hung", ""),
        (lets_wait, "hung", ""),
        (waits, "hung", ""),
        (polls_a_file, "hung", "the application called posix.stat while it waited"),
        (polls_without_a_pause, "hung", "the application called posix.stat while it waited"),
        (polls_another_clock, "hung", "the application called datetime.now while it waited"),
        (uses_a_driver, "hung", "the application used attrs while it waited"),
        (uses_what_it_was_given, "hung", "the application used attr while it waited"),
        (gives_up, "raised", "the application called "),
        (connects, "hung", "the virtual clock has no sockets, processes, signals or threads"),
    ],
)
def test_what_an_application_does_while_it_waits(
    wait: Callable[[], Awaitable[None]],
    startup: str,
    doubt: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it does nothing but wait, the virtual clock is right; else real time is asked."""
    monkeypatch.setattr(waiting, "TASKS", tmp_path)  # whoever runs the tests may have threads

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await wait()
        await live(scope, receive, send)

    clocks = time.time, time.monotonic, time.perf_counter
    (seen,) = played(app, *START, limit=60)
    assert (seen.startup, seen.doubt[: len(doubt)]) == (startup, doubt)
    assert bool(seen.doubt) == bool(doubt)
    assert (time.time, time.monotonic, time.perf_counter) == clocks
    assert sys.getprofile() is None


def test_a_thread_that_python_does_not_know_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be waited for, unless the application waits for another event."""
    monkeypatch.setattr(waiting, "TASKS", tmp_path)
    (tmp_path / "1").touch()
    (tmp_path / "2").touch()
    (seen,) = played(lambda *_: waits(), *START)
    assert seen.doubt == "there are threads that the application may have waited for"


def test_threads_that_may_be_waited_for() -> None:
    """A thread that was there before could wake the application in real time."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        (seen,) = played(lambda _, receive, __: receive(), *START)  # it takes startup, and returns
        assert (seen.startup, seen.doubt) == ("returned", "")

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await receive()

        (seen,) = played(app, *START)
        wanted = "there are threads that the application may have waited for"
        assert (seen.startup, seen.doubt) == ("silent", wanted)
    finally:
        over.set()
        thread.join()


def test_a_thread_of_its_own() -> None:
    """The loop ends where a thread appears: that is a doubt, too."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        asyncio.get_running_loop()
        timer = threading.Timer(0.2, lambda: loop.call_soon_threadsafe(done.set))
        timer.start()
        try:
            await done.wait()
        finally:
            timer.cancel()
            timer.join()

    (seen,) = played(app, *START)
    assert "cannot wait for threads" in seen.doubt


def test_an_application_that_blocks_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who blocks the loop less than the limit each time is seen again in real time."""
    monkeypatch.setattr(player, "GRACE", 0.7)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        time.sleep(1)  # noqa: ASYNC251  the same
        await send({"type": "lifespan.startup.complete"})
        await receive()
        time.sleep(60)  # noqa: ASYNC251

    (seen,) = played(app, *START, *STOP, limit=2)
    assert (seen.startup, seen.doubt) == ("complete", "the application blocked the event loop")


def test_an_application_that_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit passes after many turns of the loop, though the clock has no reason to move."""
    monkeypatch.setattr(waiting, "other_threads", lambda **_: False)  # xdist has one

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        while True:
            await asyncio.sleep(0)

    gc.collect()  # a generator of somebody else's that is closed would be one that the loop ran
    (seen,) = played(app, *START, limit=60)
    assert (seen.startup, seen.doing) == ("hung", "it was still running")
    assert (seen.doubt, seen.ended) == ("", "cancelled")


@pytest.mark.parametrize("real", [False, True])
def test_who_does_not_obey(real: bool) -> None:
    """A call that goes on when it was cancelled is given up after the grace."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)

    (seen,) = played(app, "call", "wait 0.1", "cancel", "await end", limit=0.2, real=real)
    assert not seen.obeyed
    assert seen.ended == ""


def test_generators_are_ended() -> None:
    """What is left of the loop is ended with it."""
    ended = []
    kept = []

    async def generator() -> Any:
        try:
            yield 1
        finally:
            ended.append(1)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        kept.append(generator())
        await anext(kept[0])
        await live(scope, receive, send)

    played(app, *START, *STOP)
    assert ended == [1]


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """Answer whatever comes, and take refusals."""
    while True:
        await receive()
        try:
            await send({"type": "lifespan.startup.complete"})
        except Exception:
            return


async def sleeps(scope: Any, receive: Any, send: Any) -> None:
    """Sleep when an event has come."""
    await receive()
    await asyncio.sleep(100)


async def raises(scope: Any, receive: Any, send: Any) -> None:
    """Raise when an event has come."""
    await receive()
    raise ValueError


def test_a_reaction_while_running() -> None:
    """What was sent before the event is no reaction to it; early answers neither."""

    async def early(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.complete"})
        await raises(scope, receive, send)

    (seen,) = played(early, "call", "offer lifespan.unheard", "await reaction")
    assert (seen.reaction, seen.sent) == ("raised", ["lifespan.startup.complete"])
    (seen,) = played(answers, *START, "offer lifespan.unheard", "await reaction")
    assert seen.reaction == "sent"

    async def sleepy(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await sleeps(scope, receive, send)

    (seen,) = played(sleepy, *START, "offer lifespan.unheard", "await reaction")
    assert (seen.reaction, seen.startup, seen.shutdown) == ("silent", "complete", "")


def test_a_request_that_raises_or_hangs() -> None:
    """What a request does is its own affair."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await live(scope, receive, send)
        hang = scope.get("state", {}).setdefault("hang", [])
        if not hang:
            hang.append(1)
            raise ValueError("no")
        return await asyncio.sleep(1000)

    (seen,) = played(app, *START, "request", *STOP)
    assert ("raised", "ValueError", "no") in [
        (e.kind, e.type, e.detail) for e in seen.spoken.entries
    ]
    assert seen.shutdown == "complete"

    async def hangs(scope: Any, receive: Any, send: Any) -> None:
        await (live(scope, receive, send) if scope["type"] == "lifespan" else asyncio.sleep(1000))

    async def asks(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await live(scope, receive, send)
        while True:
            await receive()

    for app in (hangs, asks):
        (seen,) = played(app, *START, "request", *STOP)
        assert ("raised", "TimeoutError") in [(e.kind, e.type) for e in seen.spoken.entries]
        assert seen.shutdown == "complete"


def test_an_interrupt_from_outside() -> None:
    """It ends the check, and is not taken for the application's."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        played(app, *START)
    assert type(interrupt.value) is KeyboardInterrupt
    assert signal.getsignal(signal.SIGINT) is before


def test_a_check_in_a_thread() -> None:
    """Where no signal arrives, it goes as well."""
    with ThreadPoolExecutor(1) as pool:
        (seen,) = pool.submit(played, live, *START, *STOP).result(60)
    assert seen.shutdown == "complete"


def test_a_check_inside_of_an_event_loop() -> None:
    """It has loops of its own, and says so."""

    async def main() -> None:
        played(live, *START)

    with pytest.raises(RuntimeError, match="start it outside, or in a thread"):
        asyncio.run(main())


def test_an_error_of_the_suite_is_none_of_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a loop refuses makes a doubt; another RuntimeError is told as one, too."""
    monkeypatch.setattr(player._Player, "play", _fails)
    (seen,) = played(live, *START)
    assert seen.doubt == "oh"


async def _fails(*_: object) -> None:
    raise RuntimeError("oh")


def test_an_application_that_blocks() -> None:
    """What keeps the loop from going on is ended by the bell."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        time.sleep(60)  # noqa: ASYNC251  that is the fault

    (seen,) = played(app, *START, limit=0.1)
    assert (seen.startup, seen.doing) == ("hung", "it blocked the event loop")
    assert seen.doubt == ""
    assert seen.ended in ("", "cancelled")
