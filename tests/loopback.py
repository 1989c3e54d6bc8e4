"""Ports of this machine, and requests to who listens there, for tests of real servers."""

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from serving import Program

__all__ = ["asked", "free_port", "said", "served", "uvicorn"]

LIMIT = 60.0  # seconds; nothing takes ten


BELOW = range(10240, 32768)  # below the ports that a system gives to connections
PORTS = iter(random.sample(BELOW, len(BELOW)))


def free_port() -> int:
    """Return a port on which nobody listens, each one once: servers start side by side."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port of 127.0.0.1 is free")


def asked(port: int) -> str | None:
    """Make a request; return the body, with the status of an error, or None if nobody answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError:
        return None


def served(
    command: Sequence[str], place: Path, port: int, *, shows: str = "", **environment: str
) -> tuple[str | None, str]:
    """Run a server until it answers and shows something, then stop it; return answer and log."""
    with Program(command, place, PYTHONUNBUFFERED="1", **environment) as program:
        answer, end = None, time.monotonic() + LIMIT
        while answer is None and not program.over and time.monotonic() < end:
            time.sleep(0.1)
            answer = asked(port)
        second = time.monotonic() + 1  # in which an application can crash
        while shows not in "\n".join(program.lines) and time.monotonic() < second:
            time.sleep(0.1)
        program.process.send_signal(signal.SIGTERM)
        program.wait(LIMIT)
    return answer, "\n".join(program.lines)


@contextlib.asynccontextmanager
async def uvicorn(
    folder: Path, *arguments: str, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run uvicorn in the folder, on a free port; end it and its workers at last."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", *arguments),
        *("--host", "127.0.0.1", "--port", "0", "--no-use-colors"),
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LIMIT):
            yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def said(process: asyncio.subprocess.Process, pattern: str) -> tuple[str, str]:
    """Read the output up to the line that matches; return what matched and all that was read."""
    assert process.stdout
    output = ""
    while line := (await process.stdout.readline()).decode():
        output += line
        if found := re.search(pattern, line):
            return found[0], output
    raise EOFError(output)
