"""What the virtual clock promises."""

import asyncio
import gc
import inspect
import math
import re
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lifespec.testing import clock

pytest_plugins = ("pytester",)


async def waits_for(event: asyncio.Event) -> None:
    """Wait one call deeper."""
    await event.wait()


async def forever() -> None:
    """Wait for what nobody sets."""
    await waits_for(asyncio.Event())


def line_of(function: Callable[..., object], line: int = 2) -> int:
    """Return the number of a line of a function; its last but for the docstring is the second."""
    return inspect.getsourcelines(function)[1] + line


def deadlock_of(main: Callable[[], Coroutine[object, object, object]]) -> str:
    """Return what is said of a program that hangs."""
    with pytest.raises(clock.Deadlock) as caught:
        clock.run(main())
    return str(caught.value)


def test_an_hour_passes_on_the_clock_of_the_loop_and_none_on_the_walls() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        await asyncio.sleep(3600)
        times.append(loop.time())
        await asyncio.sleep(1e18)  # however late it is, a timer is due at its time
        times.append(loop.time())
        due = asyncio.Event()
        loop.call_at(1.0, due.set)  # overdue: it runs now, and the clock never goes back
        await due.wait()
        return [*times, loop.time()]

    began = time.monotonic()
    assert clock.run(main()) == [0.0, 3600.0, 1e18 + 3600, 1e18 + 3600]
    assert time.monotonic() - began < 60


def test_a_deadlock_is_told_with_its_places() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(forever())
            group.create_task(asyncio.sleep(math.inf))  # a timer that is never due wakes nobody
            await asyncio.Future()

    waits = f"forever → waits_for → Event.wait at test_clock.py:{line_of(waits_for)}"
    said = deadlock_of(main)
    assert said.startswith(f"Every task waits and no timer is pending: {waits} (3 tasks); sleep;")
    assert "; test_a_deadlock_is_told_with_its_places.main at test_clock.py:" in said


def test_a_wait_in_an_awaitable_of_ones_own_is_followed() -> None:
    class Awaitable:
        def __await__(self) -> object:
            yield from asyncio.Future()

    async def main() -> None:
        await Awaitable()

    assert (
        "main → test_a_wait_in_an_awaitable_of_ones_own_is_followed.Awaitable.__await__ at"
        in deadlock_of(main)
    )


def test_a_coroutine_of_an_extension_module_has_a_name_alone() -> None:
    class Native(Coroutine[Any, Any, Any]):
        def __init__(self) -> None:
            self.__qualname__ = "native.connect"
            self.waits = asyncio.Event().wait()

        def send(self, value: Any) -> Any:
            return self.waits.send(value)

        def throw(self, *error: Any) -> Any:
            return self.waits.throw(*error)

        def close(self) -> None:
            self.waits.close()

        __await__ = None  # type: ignore[assignment]

    async def main() -> None:
        await asyncio.create_task(Native())

    assert ": native.connect; " in deadlock_of(main)


THREADS = "The virtual clock cannot wait for threads"
OUTSIDE = "The virtual clock has no sockets, processes, signals or threads"


@pytest.mark.parametrize(
    "call",
    [
        lambda loop: loop.create_connection(asyncio.Protocol, "127.0.0.1", 1),
        lambda _: asyncio.start_server(print, "127.0.0.1", 0),
        lambda _: asyncio.create_subprocess_exec("true"),
    ],
)
def test_sockets_and_processes_are_refused_with_a_sentence(
    call: Callable[..., Coroutine[object, object, object]],
) -> None:
    async def main() -> None:
        with pytest.raises(NotImplementedError, match=OUTSIDE):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)
        await call(asyncio.get_running_loop())

    with pytest.raises(NotImplementedError, match=OUTSIDE):
        clock.run(main())
    gc.collect()


@pytest.mark.parametrize("limit", [None, 10])
def test_the_clock_stands_still_while_a_new_thread_lives(limit: float | None) -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="pump")

    async def main() -> None:
        thread.start()
        async with asyncio.timeout(limit):
            await asyncio.Event().wait()

    try:
        with pytest.raises(RuntimeError, match=re.escape(f"{THREADS} (pump): run this on a real")):
            clock.run(main())
    finally:
        release.set()
        thread.join()


def test_a_call_from_another_thread_is_refused_there_and_ends_the_run_here() -> None:
    refusals: list[str] = []

    def call(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        with pytest.raises(RuntimeError) as caught:
            loop.call_soon_threadsafe(callback)
        refusals.append(str(caught.value))

    async def main() -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        loop.call_soon_threadsafe(woken.set)  # from this thread
        await woken.wait()
        woken.clear()
        thread = threading.Thread(target=call, args=(loop, woken.set), name="pump")
        thread.start()
        thread.join()
        await woken.wait()

    with pytest.raises(RuntimeError, match=re.escape(f"{THREADS} (pump)")) as caught:
        clock.run(main())
    assert refusals == [str(caught.value)]


# ---- busy -----------------------------------------------------------------------------------


def test_a_busy_task_does_not_stop_the_clock() -> None:
    """What waits for a timer goes on beside a task that never waits; later it takes fewer turns."""
    turns: list[int] = [0]

    async def spin() -> None:
        while True:
            turns[-1] += 1
            await asyncio.sleep(0)

    async def main() -> float:
        task = asyncio.create_task(spin())
        for _ in range(3):
            await asyncio.sleep(60)
            turns.append(0)
        task.cancel()
        return asyncio.get_running_loop().time()

    assert clock.run(main()) == 180
    assert turns[0] > clock.BUSY - 10
    assert max(turns[1:]) < clock.AGAIN + 10


def test_tasks_that_run_for_ever_without_a_timer_end_with_a_deadlock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "BUSY", 1000)
    monkeypatch.setattr(clock, "STUCK", 5000)
    gone: list[int] = []

    async def spin() -> None:
        turns = 0
        try:
            while True:
                turns += 1
                await asyncio.sleep(0)
        finally:
            gone.append(turns)

    with pytest.raises(clock.Deadlock, match=r"^Tasks run again and again .*spin .* at test_clock"):
        clock.run(spin())
    assert 4990 < gone[0] < 5010


def test_settle_returns_at_the_same_time_once_every_other_task_waits() -> None:
    turns: list[int] = []

    async def worker() -> None:
        for turn in range(5):
            await asyncio.sleep(0)
            turns.append(turn)
        await asyncio.sleep(1)

    async def main() -> tuple[int, float]:
        loop: Any = asyncio.get_running_loop()
        task = asyncio.create_task(worker())
        await loop.settle()
        task.cancel()
        return len(turns), loop.time()

    assert clock.run(main()) == (5, 0.0)
