"""What the pages say of uvicorn: context variables.  Which signal ends what is in a record."""

import signal
from pathlib import Path

from serving import Program

from loopback import answer, ended, until, uvicorn

APP = """
import contextvars

var = contextvars.ContextVar("var", default="nothing")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        var.set("startup")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("shutdown sees", var.get(), flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": var.get().encode()})
"""


def port(server: Program) -> int:
    """Return where uvicorn says that it listens."""
    return int(until(server, r"http://127\.0\.0\.1:(\d+)")[1])


def test_context_variables_under_uvicorn(tmp_path: Path) -> None:
    """What startup has set, shutdown sees, and a request does not."""
    (tmp_path / "page.py").write_text(APP)
    with uvicorn(tmp_path, "page:app") as server:
        assert answer(port(server)) == "nothing"
        assert "shutdown sees startup\n" in ended(server, signal.SIGTERM)
