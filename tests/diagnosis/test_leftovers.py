"""What is left behind is named: tasks, threads, processes, errors that were logged."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from lifespec.diagnosis import alive, guard, leftovers, opened
from lifespec.diagnosis.fact import Fact
from lifespec.diagnosis.logged import logging_errors
from lifespec.words import english


def test_a_task_without_a_place_has_its_name_alone() -> None:
    class Own:
        def __repr__(self) -> str:
            return "own coroutine"

    task: Any = SimpleNamespace(get_name=lambda: "Task-1", get_coro=Own)
    assert leftovers.task_name(task) == "`own coroutine`"


async def test_a_task_that_a_library_makes_is_named_by_the_authors_line_that_it_is_at() -> None:
    task = asyncio.create_task(asyncio.sleep(0))
    assert isinstance(leftovers.task_name(task), str)  # a function of Python's
    await task

    async def poll() -> None:
        await asyncio.sleep(0)

    task = asyncio.create_task(poll())
    named = leftovers.task_name(task)
    await task
    assert isinstance(named, Fact)
    assert ", now in `poll`, " in english(named)


async def test_a_task_has_the_authors_line_that_made_it_while_it_runs() -> None:
    """As uvloop calls the factory: there is no frame of the event loop."""
    tasks = leftovers.Tasks()

    async def poll() -> None: ...

    def begin() -> asyncio.Task[Any]:
        return tasks(asyncio.get_running_loop(), poll())

    begun = []
    for _ in range(2):
        task = begin()
        [running] = tasks.running()
        begun.append((running.function, running.place.function))
        await task
    assert begun == [("poll", begin.__qualname__.rpartition(".")[2])] * 2
    code = poll.__code__
    assert tasks.sources == {(code.co_filename, code.co_firstlineno)}
    assert tasks.running() == []


def test_a_task_may_be_made_before_its_loop_runs() -> None:
    """As a plugin makes one, between a fixture and a test that share a loop."""

    async def poll() -> None: ...

    tasks = leftovers.Tasks()
    guard.take()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        loop.run_until_complete(tasks(loop, poll()))
    assert guard.take() == []


def test_who_asks_keeps_no_process_and_without_proc_there_is_no_child() -> None:
    assert not alive.keeps_process(threading.current_thread())
    assert alive.children(os.getpid(), "/nowhere") == {}


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_idle_pool_of_processes_ends_with_the_process(method: str) -> None:
    """So do the processes from which Python forks, and which it lets remain."""
    before, others = {*threading.enumerate()}, leftovers.processes(os.getpid())

    def new_processes() -> list[object]:
        """Return those that this test has begun; one of another test may end meanwhile."""
        return [each for each in leftovers.processes(os.getpid()) if each not in others]

    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        pool.submit(int).result()
        assert leftovers.threads_left(before) == []
        assert new_processes() == []
        pool.submit(time.sleep, 2 * leftovers.TIME_TO_END)
        assert len(leftovers.threads_left(before)) == 1
        begun = {*threading.enumerate()} - before
        [name] = [alive.thread_name(each) for each in begun if alive.keeps_process(each)]
        assert name.endswith(" of ProcessPoolExecutor")
    assert new_processes() == []


def test_a_thread_of_a_pool_counts_only_while_it_works() -> None:
    """No frame of Python says so if it runs a function in C: the pool itself calls that."""
    before, (left, right) = {*threading.enumerate()}, socket.socketpair()
    with left, ThreadPoolExecutor(1) as pool, right:
        pool.submit(int).result()
        assert leftovers.threads_left(before) == []
        pool.submit(left.recv, 1)
        while len(leftovers.threads_left(before)) != 1:
            time.sleep(0.01)


def test_a_thread_of_anyio_is_busy_or_ends_with_the_process() -> None:
    async def main() -> None:
        await anyio.to_thread.run_sync(int)
        assert leftovers.threads_left(before) == []
        async with anyio.create_task_group() as group:
            with right:
                group.start_soon(anyio.to_thread.run_sync, left.recv, 1)
                while len(leftovers.threads_left(before)) != 1:
                    await anyio.sleep(0.01)

    before, (left, right) = {*threading.enumerate()}, socket.socketpair()
    with left:
        anyio.run(main)


def test_a_daemon_thread_of_the_author_that_goes_on_is_named() -> None:
    def poll(over: threading.Event) -> None:
        over.wait()

    def start(target: Any, *args: Any, daemon: bool = True) -> None:
        threading.Thread(target=target, args=args, daemon=daemon, name="poller").start()

    over, ended = threading.Event(), threading.Event()
    start(poll, over)
    before = {*threading.enumerate()}
    for _ in range(5):
        start(poll, over)
    start(over.wait)  # Python's
    start(poll, over, daemon=False)
    start(poll, ended)
    threading.Timer(0.05, ended.set).start()
    began = time.monotonic()
    found = leftovers.daemons(before)
    assert time.monotonic() - began < 4 * leftovers.TIME_TO_END  # one time for all
    over.set()
    assert [each.parts["name"] for each in found] == ["poller"] * 5


def test_a_signal_that_is_ignored_or_handled_has_been_taken() -> None:
    before = leftovers.handlers()

    def stops(*_: object) -> None: ...

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    found = leftovers.taken(before)
    signal.signal(signal.SIGTERM, stops)
    found += leftovers.taken(before)
    signal.signal(signal.SIGTERM, before[signal.SIGTERM])
    ignored, handled = [each.parts["handler"] for each in found]
    assert (ignored, handled.parts["function"]) == ("`signal.SIG_IGN`", "stops")


def test_a_method_that_handles_a_signal_has_not_been_taken_by_itself() -> None:
    stops = threading.Event()
    own = signal.signal(signal.SIGTERM, stops.set)
    before = leftovers.handlers()
    signal.signal(signal.SIGTERM, stops.set)  # each time it is another object
    found = leftovers.taken(before)
    signal.signal(signal.SIGTERM, own)
    assert found == []


def test_of_what_is_open_and_its_parts_the_whole_counts() -> None:
    class Client:
        closed = False

        def __init__(self, part: Any = None) -> None:
            self.__dict__ = {"part": part}  # else Python 3.13 keeps it in the object itself
            made.note(sys._getframe())

        def __del__(self) -> None: ...

    class Pool(Client): ...

    Client.__module__ = Pool.__module__ = "anyio"  # as a library has it
    made = opened.Made()
    client = Client(Pool())
    [found] = opened.unclosed(made, lambda: [client, client.part])
    name = found.parts["name"].parts
    assert name["name"].parts["name"] == "Client"
    assert name["place"].parts["function"].startswith("test_of_what_is_open")
    [found] = opened.unclosed(opened.Made(), lambda: [client, client.part])
    assert found.parts["name"].parts["name"] == "Client"  # where it was made was not seen


def test_errors_are_collected_from_loggers_that_do_not_propagate_too() -> None:
    apart = logging.getLogger("lifespec.tests.apart")
    apart.propagate = False
    with logging_errors() as found:
        apart.error("no cache\nsecond line")
        logging.getLogger("rows").warning("slow")
        logging.getLogger("lifespec.server").error("The application failed to start")
        try:
            raise OSError("no disk")  # noqa: TRY301
        except OSError:
            logging.getLogger("rows").exception("")
    apart.error("later")
    apart.propagate = True
    first, second = [english(each.fact()) for each in found]
    assert first == "ERROR lifespec.tests.apart: no cache"
    assert second.startswith("ERROR rows:  (OSError: no disk, in `test_errors_are_collected")
