"""Each driver is put behind a port, used as its users use it, and left when SIGTERM comes."""

import runpy
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.processes import until
from lifespec.conformance.server import client_host
from lifespec.conformance.server.client_host import HOSTED
from lifespec.conformance.server.observation import RAISED

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
APP = """
SAW = []

async def app(scope, receive, send):
    SAW.append(scope["type"])
    if scope["type"] == "lifespan":
        await receive()
        scope.setdefault("state", {})["pool"] = "open"
        await send({"type": "lifespan.startup.complete"})
        SAW.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})
        return
    path = scope.get("path") or scope["payload"].decode()
    SAW.append((path, scope.get("state")))
    if path == "/burst":
        raise ValueError("burst")
    if scope["type"] == "http":
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"seen " + path.encode()})
"""
# Drivers that are not installed for the tests: what they offer, as they offer it.
OTHERS = {
    "litestar/__init__.py": """
class Litestar:
    async def __call__(self, scope, receive, send):
        raise NotImplementedError
""",
    "litestar/testing.py": "from starlette.testclient import TestClient",
    "quart.py": """
from contextlib import asynccontextmanager
from httpx import ASGITransport, AsyncClient
from lifespec import Lifespan

class Quart:
    def __init__(self, name):
        self.name = name

    async def __call__(self, scope, receive, send):
        await self.asgi_app(scope, receive, send)

    @asynccontextmanager
    async def test_app(self):
        async with Lifespan(self):
            yield self

    def test_client(self):
        return self

    async def get(self, path):
        self.transport = ASGITransport(self)
        async with AsyncClient(transport=self.transport, base_url="http://test") as client:
            self.response = await client.get(path)
        return self

    async def get_data(self):
        return self.response.content
""",
    "pytest_amgi.py": """
import pytest
from amgi_common import Lifespan
from contextlib import AsyncExitStack

class Producer:
    def __init__(self, app, state):
        self.app, self.state = app, state

    async def send(self, address, *, payload):
        scope = {"type": "message", "address": address, "payload": payload.encode()}
        await self.app({**scope, "state": self.state.copy()}, None, None)

@pytest.fixture
async def amgi_producer():
    async with AsyncExitStack() as stack:
        async def factory(app):
            return Producer(app, await stack.enter_async_context(Lifespan(app)))

        yield factory
""",
    "mangum.py": """
import asyncio
from lifespec import Lifespan

class Mangum:
    def __init__(self, app):
        self.app = app

    def __call__(self, event, context):
        return asyncio.run(self.handled(event["requestContext"]["http"]))

    async def handled(self, http):
        sent = []

        async def send(event):
            sent.append(event)

        async with Lifespan(self.app) as lifespan:
            scope = lifespan.with_state({"type": "http", "path": http["path"]})
            await self.app(scope, None, send)
        return {"statusCode": sent[0]["status"], "body": sent[1]["body"].decode()}
""",
}


def told_to_stop() -> list[threading.Thread]:
    """Send SIGTERM to the thread that waits for it: pytest has others, which would end with it."""
    waiting = [each for each in threading.enumerate() if each.name == "SIGTERM"]
    for thread in waiting:
        signal.pthread_kill(thread.ident or 0, signal.SIGTERM)
    return waiting


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Write the application, and the drivers that are not here; be told to stop, and not ended."""
    for name, text in {"served.py": APP, **OTHERS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    yield "served:app"
    for thread in told_to_stop():
        thread.join(LIMIT)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for name in ("served", *(Path(name).parts[0].removesuffix(".py") for name in OTHERS)):
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[module]


class Client(threading.Thread):
    """Asks for paths, one after the other, as soon as somebody listens; then sends SIGTERM."""

    def __init__(self, *paths: str) -> None:
        super().__init__()
        self.paths, self.answers = paths, list[tuple[int, str]]()
        self.over = False
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    def ask(self, path: str) -> bool:
        """Ask once; keep the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            self.answers.append((answer.status, answer.read().decode()))
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
        return True

    def run(self) -> None:
        """Ask for all."""
        for path in self.paths:
            until(lambda path=path: self.over or self.ask(path), LIMIT)  # type: ignore[misc]
        told_to_stop()


def hosted(name: str, target: str, *paths: str) -> tuple[list[tuple[int, str]], list[Any]]:
    """Put a driver behind a port, and ask there; return the answers, and what the app saw."""
    client = Client(*paths)
    client.start()
    try:
        client_host.main([name, target, str(client.port)])
    finally:
        client.over = True
        client.join(LIMIT)
    return client.answers, sys.modules["served"].SAW


STATE = {"pool": "open"}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("lifespec", STATE),
        ("asgi-lifespan", STATE),
        ("starlette", STATE),
        ("litestar", STATE),
        ("quart", None),
    ],
)
@pytest.mark.filterwarnings("ignore:Using `httpx`")
def test_a_driver_is_used(name: str, state: Any, target: str) -> None:
    """The application starts, is asked twice through the driver, and is told to stop."""
    answers, saw = hosted(name, target, "/one", "/two")
    assert answers == [(200, "seen /one"), (200, "seen /two")]
    assert [each for each in saw if isinstance(each, str)] == [
        "lifespan",
        "http",
        "http",
        "lifespan.shutdown",
    ]
    assert saw[2] == ("/one", state)


def test_a_function_has_a_lifespan_for_each_event(target: str) -> None:
    """Mangum's handler is called for each request, and does all of it each time."""
    answers, saw = hosted("mangum", target, "/one", "/two")
    assert answers == [(200, "seen /one"), (200, "seen /two")]
    assert saw == [
        *("lifespan", "http", ("/one", STATE), "lifespan.shutdown"),
        *("lifespan", "http", ("/two", STATE), "lifespan.shutdown"),
    ]


def test_a_driver_of_messages_gets_messages(target: str) -> None:
    """For each request a message, with its path as payload and a copy of the state."""
    answers, saw = hosted("amgi-common", target, "/one?7")
    assert answers == [(200, "")]
    assert saw == ["lifespan", "message", ("/one?7", STATE), "lifespan.shutdown"]


def test_a_fixture_is_used_within_a_test(
    target: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The test passes where the application did all that it has to."""
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_amgi")
    with pytest.raises(SystemExit) as left:
        hosted("pytest-amgi", target, "/one?7")
    assert left.value.code == 0
    assert "1 passed" in capfd.readouterr().out
    saw = sys.modules["served"].SAW
    assert saw == ["lifespan", "message", ("/one?7", STATE), "lifespan.shutdown"]


def test_what_a_request_raises_is_told_to_who_asked(target: str) -> None:
    """The driver goes on."""
    answers, _ = hosted("lifespec", target, "/burst", "/one")
    assert answers == [(500, "ValueError('burst')"), (200, "seen /one")]


@pytest.mark.filterwarnings("ignore:Using `httpx`")
def test_what_a_driver_raises_ends_it(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Starlette's client raises what the application has raised; so does a driver's start."""
    with pytest.raises(SystemExit) as ended:
        hosted("starlette", target, "/burst")
    assert ended.value.code == RAISED
    assert capfd.readouterr().err.endswith("\nValueError: burst\n")
    sys.modules["served"].app = None
    with pytest.raises(SystemExit) as ended:
        hosted("starlette", target)
    assert ended.value.code == RAISED


def test_a_driver_that_is_not_installed(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence names it."""
    monkeypatch.setitem(HOSTED, "other", HOSTED["quart"]._replace(module="no_such_driver"))
    with pytest.raises(SystemExit, match="other is not installed here: No module named"):
        client_host.main(["other", target, "1"])


def test_it_is_a_program(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With three arguments."""
    monkeypatch.setitem(sys.modules, "quart", None)
    monkeypatch.setattr(sys, "argv", ["hosts.py", "quart", target, "1"])
    with pytest.raises(SystemExit, match="quart is not installed here"):
        runpy.run_path(client_host.__file__, run_name="__main__")
