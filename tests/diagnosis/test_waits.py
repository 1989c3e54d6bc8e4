"""What is left behind is named: tasks, threads, processes, errors that were logged."""

import asyncio
import logging
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from lifespec.diagnosis import origins, waits
from lifespec.diagnosis.fact import short
from lifespec.diagnosis.logged import logging_errors
from lifespec.words import Words, english

HERE = short(Path(__file__))


async def waiting() -> None:
    await asyncio.Event().wait()


def here() -> int:
    """Return the line that calls this."""
    return sys._getframe(1).f_lineno


async def test_a_task_is_named_by_the_line_that_made_it_if_there_is_one() -> None:
    loop, made = asyncio.get_running_loop(), origins.Tasks()
    loop.set_task_factory(made)
    line, sleeper = here(), asyncio.create_task(asyncio.sleep(60))
    loop.call_soon(loop.create_task, asyncio.sleep(70))
    await asyncio.sleep(0)
    loop.set_task_factory(None)
    library, own = map(english, await waits.tasks(made.made.__contains__, made.made))
    assert "`sleep`, made in `test_a_task_is_named_by" in own
    assert f"{HERE}:{line}" in own
    assert "still runs: `sleep`. Cancel" in library
    for each in (sleeper, *made.made):
        each.cancel()


def test_a_task_without_a_place_has_its_name_alone() -> None:
    class Own:
        def __repr__(self) -> str:
            return "own coroutine"

    task: Any = SimpleNamespace(get_name=lambda: "Task-1", get_coro=Own)
    assert origins.task_name(task) == "`own coroutine`"


async def dies() -> None:
    raise ConnectionError("link detached")


async def test_a_task_whose_exception_nobody_asked_for_has_died() -> None:
    loop, made = asyncio.get_running_loop(), origins.Tasks()
    loop.set_task_factory(made)
    lost, asked = asyncio.create_task(dies()), asyncio.create_task(dies())
    cancelled = asyncio.create_task(waiting())
    loop.set_task_factory(None)
    await asyncio.wait([lost, asked])
    asked.exception()
    cancelled.cancel()
    await asyncio.wait([cancelled])
    ((name, error),) = made.died()
    assert "dies" in Words().part(name)
    assert (error.type, error.text) == ("ConnectionError", "link detached")
    assert error.place is not None
    assert error.place.function == "dies"


def test_an_idle_thread_of_a_pool_ends_with_the_process() -> None:
    before, over, busy = {*threading.enumerate()}, threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        assert waits.threads(before) == []
        pool.submit(lambda: (busy.set(), over.wait()))
        busy.wait()
        found = waits.threads(before)
        over.set()
        assert len(found) == 1


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_idle_pool_of_processes_ends_with_the_process(method: str) -> None:
    """So do the processes from which Python forks, and which it lets remain."""
    before = {*threading.enumerate()}
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        pool.submit(int).result()
        assert (waits.threads(before), waits.processes(os.getpid())) == ([], [])
        pool.submit(time.sleep, 2 * waits.ENDING)
        assert len(waits.threads(before)) == 1
    assert waits.processes(os.getpid()) == []


def test_a_thread_of_a_pool_that_runs_a_function_in_c_is_busy() -> None:
    """No frame of Python says so: the pool itself calls the function."""
    before, (left, right) = {*threading.enumerate()}, socket.socketpair()
    with left, ThreadPoolExecutor(1) as pool, right:
        pool.submit(left.recv, 1)
        time.sleep(0.1)
        assert len(waits.threads(before)) == 1


def test_a_thread_of_anyio_is_busy_or_ends_with_the_process() -> None:
    async def main() -> None:
        await anyio.to_thread.run_sync(int)
        assert waits.threads(before) == []
        async with anyio.create_task_group() as group:
            with right:
                group.start_soon(anyio.to_thread.run_sync, left.recv, 1)
                await anyio.sleep(0.1)
                assert len(waits.threads(before)) == 1

    before, (left, right) = {*threading.enumerate()}, socket.socketpair()
    with left:
        anyio.run(main)


@pytest.mark.parametrize(("module", "words"), [("rows", "rows"), ("pytest", "by pytest in")])
def test_the_line_and_the_package_that_start_a_thread_are_named(module: str, words: str) -> None:
    over = threading.Event()

    def target() -> None:
        over.wait()

    target.__module__ = module
    thread = threading.Thread(target=target, name="rows")
    with origins.noting_starts():
        starter = threading.Thread(target=threading.Thread(target=over.wait).start)
        line = here() + 1
        thread.start()
        starter.start()  # which starts another, by no line of an author
        starter.join()
    name = Words().part(
        origins.thread_name(thread)
    )  # of a thread that has ended the target is forgotten
    over.set()
    thread.join()
    assert words in name
    assert f"`test_the_line_and_the_package_that_start_a_thread_are_named`, {HERE}:{line}" in name


def test_the_line_that_starts_a_process_is_named() -> None:
    with origins.noting_starts():
        line = here() + 1
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = Words().part(origins.process_name(process.pid, f"python ({process.pid})"))
    process.communicate()
    assert name.startswith(f"python ({process.pid}), started in")
    assert f"{HERE}:{line}" in name
    assert origins.process_name(0, "python (0)") == "python (0)"


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
    found = waits.daemons(before)
    assert time.monotonic() - began < 4 * waits.ENDING  # one time for all
    over.set()
    assert [each.parts["name"] for each in found] == ["poller"] * 5


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


def test_an_object_of_a_library_that_is_not_closed_is_named() -> None:
    class Client:
        is_closed = False

        def aclose(self) -> None: ...

    Client.__module__ = "pytest"
    client = Client()
    assert [each.parts["package"] for each in waits.unclosed() if each.parts["name"] == "Client"]
    client.is_closed = True
    assert not [each for each in waits.unclosed() if each.parts["name"] == "Client"]
