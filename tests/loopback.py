"""Ports of this machine, and requests to who listens there, for tests of real servers."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

__all__ = ["asked", "free_port", "said", "uvicorn"]

LIMIT = 60.0  # seconds; nothing takes ten


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


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
