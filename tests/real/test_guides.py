"""What the guides say of uvicorn: signals during startup, and context variables."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes five
APP = """
import asyncio
import contextvars
import os

var = contextvars.ContextVar("var", default="nothing")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        var.set("startup")
        print("starting", flush=True)
        await asyncio.sleep(float(os.environ["STARTUP"]))
        print("started", flush=True)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("shutdown sees", var.get(), flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": var.get().encode()})
"""


@contextlib.asynccontextmanager
async def uvicorn(folder: Path, startup: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run uvicorn in the folder, on a free port of the loopback interface; end it here at last."""
    (folder / "page.py").write_text(APP)
    command = ["-m", "uvicorn", "page:app", "--host", "127.0.0.1", "--port", "0", "--no-use-colors"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=folder,
        env=os.environ | {"STARTUP": startup},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(LIMIT):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def said(process: asyncio.subprocess.Process, pattern: str) -> str:
    """Read the output up to the line that matches, and return what does."""
    assert process.stdout
    while line := (await process.stdout.readline()).decode():
        if found := re.search(pattern, line):
            return found[0]
    raise EOFError(pattern)


@pytest.mark.parametrize("times", [1, 2])
async def test_ctrl_c_during_startup_of_uvicorn(tmp_path: Path, times: int) -> None:
    """The first waits until startup is answered; after a second, shutdown is not offered."""
    async with uvicorn(tmp_path, startup="2") as process:
        await said(process, "^starting")
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            await asyncio.sleep(0.2)  # two at once would be one
        rest = (await process.communicate())[0].decode()
    assert rest.startswith("started\n")
    assert ("shutdown sees" in rest) is (times == 1)


async def test_context_variables_under_uvicorn(tmp_path: Path) -> None:
    """What startup has set, shutdown sees, and a request does not."""
    async with uvicorn(tmp_path, startup="0") as process:
        address = await said(process, r"http://127\.0\.0\.1:\d+")
        async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
            assert (await client.get(address)).text == "nothing"
        process.send_signal(signal.SIGTERM)
        assert b"shutdown sees startup\n" in (await process.communicate())[0]
