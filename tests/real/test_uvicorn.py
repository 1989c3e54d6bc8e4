"""The program of the README starts, serves its state and stops under a real uvicorn."""

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

LIMIT = 60.0  # seconds; the check takes a few
PAGE = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the program of the README into an empty folder."""
    (tmp_path / "page.py").write_text("\n".join(BLOCK.findall(PAGE.read_text())))
    return tmp_path


@contextlib.asynccontextmanager
async def uvicorn(folder: Path, target: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run uvicorn in the folder, on a free port of the loopback interface; end it here at last."""
    command = ["-m", "uvicorn", target, "--host", "127.0.0.1", "--port", "0", "--no-use-colors"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=folder,
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


async def said(process: asyncio.subprocess.Process, pattern: str) -> tuple[str, str]:
    """Read the output up to the line that matches; return what matched and all that was read."""
    assert process.stdout
    output = ""
    while line := (await process.stdout.readline()).decode():
        output += line
        if found := re.search(pattern, line):
            return found[0], output
    raise EOFError(output)


async def test_the_page_under_uvicorn(folder: Path) -> None:
    """It starts before it serves, a request sees its state, and SIGTERM lets it shut down."""
    async with asyncio.timeout(LIMIT), uvicorn(folder, "page:app") as process:
        address, before = await said(process, r"http://127\.0\.0\.1:\d+")
        assert "open the pool\n" in before
        assert "close the pool\n" not in before
        async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
            assert (await client.get(address)).text == "3 connections"
        process.send_signal(signal.SIGTERM)
        rest, _ = await process.communicate()
        assert "close the pool\n" in rest.decode()
        assert "Application shutdown complete." in rest.decode()
        assert process.returncode == -signal.SIGTERM  # uvicorn raises what it caught
