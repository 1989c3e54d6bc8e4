"""The program of the README starts, serves its state and stops under a real uvicorn."""

import re
import signal
from pathlib import Path

import httpx
import pytest

from loopback import said, uvicorn

__all__: list[str] = []

LIMIT = 60.0  # seconds; the check takes a few
PAGE = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the program of the README into an empty folder."""
    (tmp_path / "page.py").write_text("\n".join(BLOCK.findall(PAGE.read_text())))
    return tmp_path


async def test_the_page_under_uvicorn(folder: Path) -> None:
    """It starts before it serves, a request sees its state, and SIGTERM lets it shut down."""
    async with uvicorn(folder, "page:app") as process:
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
