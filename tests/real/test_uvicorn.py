"""An application starts, serves its state and stops under a real uvicorn: a process of its own."""

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
APPLICATION = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["greeting"] = "hello"
        print("started", flush=True)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("stopped", flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["state"]["greeting"].encode()})
"""


@contextlib.asynccontextmanager
async def uvicorn(folder: Path, target: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run uvicorn in the folder, on a free port of the loopback interface; end it here at last."""
    command = ["-m", "uvicorn", target, "--host", "127.0.0.1", "--port", "0", "--no-use-colors"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
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


async def test_an_application_under_uvicorn(tmp_path: Path) -> None:
    """It starts before it serves, a request sees its state, and SIGTERM lets it shut down."""
    (tmp_path / "application.py").write_text(APPLICATION)
    async with asyncio.timeout(LIMIT), uvicorn(tmp_path, "application:app") as process:
        address, before = await said(process, r"http://127\.0\.0\.1:\d+")
        assert "started\n" in before
        async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
            assert (await client.get(address)).text == "hello"
        process.send_signal(signal.SIGTERM)
        rest, _ = await process.communicate()
        assert "stopped\n" in rest.decode()
        assert "Application shutdown complete." in rest.decode()
        assert (
            process.returncode == -signal.SIGTERM
        )  # uvicorn raises again the signal that it caught


async def test_an_application_that_fails_to_start_under_uvicorn(tmp_path: Path) -> None:
    """It sends `lifespan.startup.failed`, is never served, and uvicorn exits with a status."""
    failing = APPLICATION.replace("startup.complete", "startup.failed")
    (tmp_path / "application.py").write_text(failing)
    async with asyncio.timeout(LIMIT), uvicorn(tmp_path, "application:app") as process:
        output, _ = await process.communicate()
        assert "Application startup failed" in output.decode()
        assert "running on" not in output.decode()
        assert process.returncode == 3
