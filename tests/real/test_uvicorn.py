"""What the pages say of uvicorn: signals and context variables."""

import signal
import time
from pathlib import Path

import pytest
from serving import Program

from loopback import answer, ended, until, uvicorn

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


def served(folder: Path, startup: str) -> Program:
    """Run the application, whose startup takes so many seconds."""
    (folder / "page.py").write_text(APP)
    return uvicorn(folder, "page:app", STARTUP=startup)


def port(server: Program) -> int:
    """Return where uvicorn says that it listens."""
    return int(until(server, r"http://127\.0\.0\.1:(\d+)")[1])


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_during_startup_of_uvicorn(tmp_path: Path, times: int) -> None:
    """The first waits until startup is answered; after a second, shutdown is not offered."""
    with served(tmp_path, "2") as server:
        until(server, "^starting")
        for _ in range(times):
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.2)  # two at once would be one
        output = ended(server)
    assert "\nstarting\nstarted\n" in output
    assert ("shutdown sees" in output) is (times == 1)


def test_context_variables_under_uvicorn(tmp_path: Path) -> None:
    """What startup has set, shutdown sees, and a request does not."""
    with served(tmp_path, "0") as server:
        assert answer(port(server)) == "nothing"
        assert "shutdown sees startup\n" in ended(server, signal.SIGTERM)
