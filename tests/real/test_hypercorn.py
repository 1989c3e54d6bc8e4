"""Combined applications start and stop under a real hypercorn, on asyncio and on trio."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
PROGRAM = """
import contextlib

from lifespec import combine_lifespans, with_lifespan


def part(name):
    @contextlib.asynccontextmanager
    async def context(_: object):
        print("start", name, flush=True)
        yield {name: "open"}
        print("stop", name, flush=True)

    async def respond(scope, receive, send):
        body = " ".join(sorted(scope["state"])).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return with_lifespan(respond, context)


app = combine_lifespans(part("shop"), part("mail"))
"""


@contextlib.asynccontextmanager
async def hypercorn(
    folder: Path, worker: str, bound: socket.socket
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run hypercorn in the folder, on a socket that is bound already; end it here at last."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "hypercorn", "program:app", "--worker-class", worker),
        *("--bind", f"fd://{bound.fileno()}"),
        cwd=folder,
        pass_fds=[bound.fileno()],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("worker", ["asyncio", "trio"])
async def test_combined(tmp_path: Path, worker: str) -> None:
    """Both parts start, requests see the state of both, and both stop, in reverse."""
    (tmp_path / "program.py").write_text(PROGRAM)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        async with asyncio.timeout(LIMIT), hypercorn(tmp_path, worker, bound) as process:
            async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
                assert (await client.get(address)).text == "mail shop"
            process.send_signal(signal.SIGTERM)
            output, _ = await process.communicate()
    lines = output.decode().splitlines()
    assert [line for line in lines if line.startswith(("start", "stop"))] == [
        *("start shop", "start mail"),
        *("stop mail", "stop shop"),
    ]
