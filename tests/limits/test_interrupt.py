"""Ctrl-C under `asyncio.run`, a real signal to a real process, in each phase."""

import signal
import subprocess
import sys
import threading
from typing import NamedTuple

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
SERVER = """
import asyncio, signal, sys
from lifespec import Lifespan

signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts this may ignore it
slow = sys.argv[1]


async def work(when):
    # said once this task waits: in running code an interrupt may leave any file open
    asyncio.get_running_loop().call_soon(lambda: print(when, flush=True))
    await asyncio.sleep(600 if when == slow else 0)


async def app(scope, receive, send):
    try:
        for when in ("startup", "shutdown"):
            await receive()
            await work(when)
            await send({"type": f"lifespan.{when}.complete"})
    except asyncio.CancelledError:
        print("the application is cancelled")
        raise
    finally:
        print("the application is gone")


async def serve():
    lifespan = Lifespan(app)
    try:
        async with lifespan:
            await work("serving")
    finally:
        print(lifespan.outcome)


asyncio.run(serve())
"""


class Ended(NamedTuple):
    """What a server said, and how it ended."""

    lines: list[str]
    complaint: str
    status: int


def interrupted(*when: str, slow: str) -> Ended:
    """Run the server, slow in one of its phases; signal it where it says one of these words."""
    lines = []
    with subprocess.Popen(
        [sys.executable, "-W", "default", "-c", SERVER, slow],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(LIMIT, process.kill)
        watchdog.start()
        try:
            assert process.stdout
            assert process.stderr
            for line in process.stdout:
                lines.append(line.strip())
                if lines[-1] in when:
                    process.send_signal(signal.SIGINT)
            complaint = process.stderr.read()
        finally:
            watchdog.cancel()
            process.kill()
    return Ended(lines, complaint, process.returncode)


def assert_clean(ended: Ended) -> None:
    """Hold that the interrupt came through, and that nobody complains of anything else."""
    assert ended.status == -signal.SIGINT
    assert ended.complaint.splitlines()[-1] == "KeyboardInterrupt"
    for complaint in ("destroyed", "never", "Warning", "ignored"):
        assert complaint not in ended.complaint


def test_while_starting() -> None:
    """While the application starts, one signal is enough: it is cancelled and awaited."""
    ended = interrupted("startup", slow="startup")
    gone = ["the application is cancelled", "the application is gone", "cancelled"]
    assert ended.lines == ["startup", *gone]
    assert_clean(ended)


def test_while_running() -> None:
    """While the application runs, a signal ends the body, and shutdown is offered and awaited."""
    ended = interrupted("serving", slow="serving")
    assert ended.lines == ["startup", "serving", "shutdown", "the application is gone", "complete"]
    assert_clean(ended)


def test_while_stopping() -> None:
    """While the application stops, one signal is enough."""
    ended = interrupted("shutdown", slow="shutdown")
    gone = ["the application is cancelled", "the application is gone", "cancelled"]
    assert ended.lines == ["startup", "serving", "shutdown", *gone]
    assert_clean(ended)


def test_twice() -> None:
    """A second signal ends a shutdown that the first began and that takes its time."""
    ended = interrupted("serving", "shutdown", slow="shutdown")
    assert ended.lines[:3] == ["startup", "serving", "shutdown"]
    assert "the application is gone" in ended.lines
    assert_clean(ended)
