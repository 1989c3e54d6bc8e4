"""A wait is followed to the work, also into a thread, and told what it is that is awaited."""

import asyncio
import functools
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import trio
from asgiref.sync import sync_to_async

from lifespec.diagnosis import stacks, waits

Call = Callable[[], Awaitable[Any]]


class Gate:
    """A thread waits here until the test is over."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.entered.set()
        self.opened.wait(30)


GATE, ELSEWHERE = Gate(), Gate()


def wait_elsewhere() -> None:
    ELSEWHERE.wait()


def close_all() -> None:
    for gate in (GATE, ELSEWHERE):
        gate.entered.clear()
        gate.opened.clear()


def open_all() -> None:
    for gate in (GATE, ELSEWHERE):
        gate.opened.set()


def leads_to_the_gate(found: waits.Wait) -> None:
    functions = [stacks.line(frame).function for frame in found.frames]
    assert found.awaits == "thread"
    assert "Gate.wait" in functions
    assert "wait_elsewhere" not in functions


async def below_many_routers(count: int = 150) -> None:
    """Wait as a lifespan does below routers that FastAPI has included: each has two calls."""

    @asynccontextmanager
    async def merged() -> AsyncIterator[None]:
        await below_many_routers(count - 1)
        yield

    if not count:
        await asyncio.Event().wait()
    async with merged():
        pass


async def lock() -> None:
    held = asyncio.Lock()
    await held.acquire()
    await held.acquire()


async def event() -> None:
    await asyncio.Event().wait()


async def event_of_anyio() -> None:
    await anyio.Event().wait()


async def event_with_a_limit() -> None:
    await asyncio.wait_for(asyncio.Event().wait(), 100)


async def item() -> None:
    await asyncio.Queue[int]().get()


async def item_of_a_stream() -> None:
    sender, receiver = anyio.create_memory_object_stream[int](0)
    with sender, receiver:
        await receiver.receive()


async def room() -> None:
    full = asyncio.Queue[int](1)
    await full.put(1)
    await full.put(1)


async def queue() -> None:
    unfinished = asyncio.Queue[int]()
    await unfinished.put(1)
    await unfinished.join()


async def sleep() -> None:
    await asyncio.sleep(100)


async def sleep_of_anyio() -> None:
    await anyio.sleep(100)


async def sleep_without_end() -> None:
    await anyio.sleep_forever()


async def future() -> None:
    await asyncio.get_running_loop().create_future()


async def task() -> None:
    await asyncio.gather(asyncio.sleep(100), asyncio.sleep(100))


async def task_of_the_author() -> None:
    await asyncio.gather(sleep())


async def task_in_two_gathers() -> None:
    await asyncio.gather(asyncio.gather(sleep()))


async def task_behind_a_shield() -> None:
    await asyncio.shield(sleep())


async def task_that_is_first() -> None:
    for first in asyncio.as_completed([sleep()]):
        await first


async def connection() -> None:
    left, right = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=left)
    with right:
        try:
            await reader.readline()
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)


async def condition() -> None:
    changed = asyncio.Condition()
    async with changed:
        await changed.wait()


async def process() -> None:
    child = await asyncio.create_subprocess_exec("sleep", "100")
    try:
        await child.wait()
    finally:
        child.kill()
        await child.wait()


async def of_a_library() -> None:
    namespace: dict[str, Any] = {}
    exec("async def connect(call):\n    await call", namespace)  # noqa: S102  code of no file
    await namespace["connect"](asyncio.Event().wait())


@pytest.mark.parametrize(
    ("call", "awaits"),
    [
        (lock, "lock"),
        (below_many_routers, "event"),
        (event, "event"),
        (event_of_anyio, "event"),
        (event_with_a_limit, "event"),
        (item, "item"),
        (item_of_a_stream, "item"),
        (room, "room"),
        (queue, "queue"),
        (sleep, "sleep"),
        (sleep_of_anyio, "sleep"),
        (sleep_without_end, "forever"),
        (future, "future"),
        (task, "task"),
        (task_of_the_author, "sleep"),
        (task_in_two_gathers, "sleep"),
        (task_behind_a_shield, "sleep"),
        (task_that_is_first, "task"),
        (connection, "connection"),
        (process, "process"),
        (condition, ""),
        (of_a_library, ""),
    ],
)
def test_what_is_awaited_is_told_by_the_functions_that_wait(call: Call, awaits: str) -> None:
    async def main() -> tuple[waits.Wait, waits.Wait]:
        waiting = asyncio.ensure_future(call())
        for _ in range(500):
            await asyncio.sleep(0.01)
            found = waits.of(waiting)
            of_coroutine = waits.of(waiting.get_coro())
            if found.awaits == of_coroutine.awaits == awaits:
                break
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return found, of_coroutine

    for found in asyncio.run(main()):
        assert (found.awaits, found.is_due) == (awaits, False)


async def in_executor() -> None:
    await asyncio.get_running_loop().run_in_executor(None, GATE.wait)


async def with_a_limit() -> None:
    await asyncio.wait_for(asyncio.to_thread(GATE.wait), 100)


async def with_callbacks() -> None:
    future = asyncio.get_running_loop().run_in_executor(None, GATE.wait)
    future.add_done_callback(lambda _: repr(result))  # that has no value yet
    future.add_done_callback(bool)
    result = await asyncio.shield(future)


async def handed_on() -> None:
    """As `wait_for` did before Python 3.12."""
    done = asyncio.get_running_loop().create_future()
    future = asyncio.get_running_loop().run_in_executor(None, GATE.wait)
    future.add_done_callback(functools.partial(hand_on, done))
    await done


def hand_on(done: asyncio.Future[None], _: object) -> None:
    done.set_result(None)


async def shielded() -> None:
    await asyncio.shield(asyncio.to_thread(GATE.wait))


async def gathered() -> None:
    await asyncio.gather(asyncio.to_thread(GATE.wait), asyncio.sleep(0))


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(GATE.wait))


THREADS: dict[str, Call] = {
    "asyncio.to_thread": lambda: asyncio.to_thread(GATE.wait),
    "run_in_executor": in_executor,
    "anyio.to_thread": lambda: anyio.to_thread.run_sync(GATE.wait),
    "sync_to_async": sync_to_async(GATE.wait),
    "sync_to_async, several": sync_to_async(GATE.wait, thread_sensitive=False),
    "wait_for": with_a_limit,
    "shield": shielded,
    "shield of a future with callbacks": with_callbacks,
    "a callback with a future": handed_on,
    "gather": gathered,
    "a task group": in_a_group,
}


@pytest.mark.parametrize("way", THREADS)
def test_a_wait_is_followed_into_its_thread(way: str) -> None:
    async def main() -> waits.Wait:
        waiting = asyncio.ensure_future(THREADS[way]())
        other = asyncio.ensure_future(asyncio.to_thread(wait_elsewhere))  # is not taken for it
        while not (GATE.entered.is_set() and ELSEWHERE.entered.is_set()):
            await asyncio.sleep(0.01)
        found = waits.of(waiting)
        open_all()
        await asyncio.gather(waiting, other)
        return found

    close_all()
    leads_to_the_gate(asyncio.run(main()))


def test_a_thread_of_trio_is_followed() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, GATE.wait)
            [child] = before = nursery.child_tasks
            nursery.start_soon(trio.to_thread.run_sync, wait_elsewhere)
            [other] = nursery.child_tasks - before
            while not (GATE.entered.is_set() and ELSEWHERE.entered.is_set()):
                await trio.sleep(0.01)
            found.extend([waits.of(child), waits.of(other)])
            open_all()

    close_all()
    found: list[waits.Wait] = []
    trio.run(main)
    leads_to_the_gate(found[0])
    assert "wait_elsewhere" in [stacks.line(frame).function for frame in found[1].frames]


async def test_what_another_thread_has_set_is_due() -> None:
    """`set` wakes no loop: its callback is in the loop's queue, which nobody looks at."""
    ready = asyncio.Event()
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.sleep(0)
    before = waits.of(waiting)
    ready.set()
    assert (before.is_due, waits.of(waiting).is_due) == (False, True)
    await waiting


async def test_a_line_that_waits_anew_each_time_is_told() -> None:
    async def polls() -> None:
        while True:
            await asyncio.sleep(0.01)

    async def gives_way() -> None:
        while True:
            await asyncio.sleep(0)

    async def told(call: Call) -> list[str]:
        looks, waiting, awaits = waits.Looks(), asyncio.ensure_future(call()), []
        for _ in range(4):
            await asyncio.sleep(0.015)
            looks.look(waiting, [])
            awaits.append(looks.awaits)
        waiting.cancel()
        await asyncio.wait([waiting])
        return awaits

    assert await told(polls) == ["sleep", "sleep", "again", "again"]
    assert await told(event) == ["event"] * 4
    assert await told(gives_way) == ["sleep"] * 4  # for nothing but its turn
    assert await told(asyncio.Event().wait) == [""] * 4  # no line of an author


async def test_tasks_that_wait_for_one_another_are_looked_at_once() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def waits_for_the_other(number: int) -> None:
        await asyncio.wait([tasks[1 - number]])

    tasks += [asyncio.create_task(waits_for_the_other(number)) for number in range(2)]
    await asyncio.sleep(0)
    found = waits.of(tasks[0])
    assert found.awaits == "task"
    assert len(stacks.own_lines(found.frames)) == len(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
