"""The server of the page "Write an ASGI server", as a process on a loopback port."""

import ast
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopback import LIMIT, ended, until
from serving import Program

ROOT = Path(__file__).parents[2]
SERVE = ROOT / "docs" / "programs" / "serve.py"
APP = """
import asyncio
import contextlib
import contextvars

from scripted import NOT_STOPPED, STARTED, says

var = contextvars.ContextVar("var", default="clean")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["seen"] = []
        var.set("of the lifespan")
        print("open", flush=True)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("close", flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await respond(scope, receive, send)


async def respond(scope, receive, send):
    state, body = scope.get("state", {}), b""
    state["own"] = state.get("own", 0) + 1
    if var.get() != "clean":
        raise ValueError(var.get())
    var.set(f"of the request {scope['path']}")
    state.setdefault("seen", []).append(scope["path"])
    while scope["path"] != "/unread":
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    if scope["path"] == "/slow":
        print("asked", flush=True)
        await asyncio.sleep(0.3)
    if scope["path"] == "/stubborn":
        await send({"type": "http.response.start", "status": 200})
        while True:
            await send({"type": "http.response.body", "body": b".", "more_body": True})
            print("asked", flush=True)
            try:
                await asyncio.sleep(600)
            finally:
                print("cancelled", flush=True)
    if scope["path"] == "/waits":
        print("asked", flush=True)
        print((await receive())["type"], flush=True)
        return
    text = f"{len(state['seen'])} {state['own']} {body.decode()} {scope['query_string'].decode()}"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b")]})
    await send({"type": "http.response.body", "body": text.encode()})
    if scope["path"] == "/after":
        print((await receive())["type"], flush=True)


starts_slowly = says("receive", 600)
fails_to_stop = says("receive", STARTED, "receive", NOT_STOPPED | {"message": "3 jobs are lost"})
hangs = says("receive", STARTED, "receive", 600)
crashes = says("receive", STARTED, 0.1, RuntimeError("the worker died"))


async def stops_slowly(scope, receive, send):
    await says("receive", STARTED, "receive")(scope, receive, send)
    print("stopping", flush=True)
    await asyncio.sleep(600)


async def ignores(scope, receive, send):
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
"""


class Client:
    """A connection to a server."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.reader = connection, connection.makefile("rb")

    def asks(self, text: str) -> tuple[str, str]:
        """Send a request, and return head and body of the answer."""
        self.sends(text)
        return self.hears()

    def sends(self, text: str) -> None:
        """Send; lines end as they do in HTTP."""
        self.connection.sendall(text.replace("\n", "\r\n").encode())

    def hears(self) -> tuple[str, str]:
        """Return head and body of the next answer."""
        head = "".join(line.decode() for line in iter(self.reader.readline, b"\r\n"))
        length = re.search(r"^content-length: (\d+)\r$", head, re.MULTILINE)
        return head, self.reader.read(int(length[1]) if length else -1).decode()


def serve(folder: Path, app: str, *options: str) -> Program:
    """Start the server in a folder of its own, on a free port."""
    (folder / "page.py").write_text(APP)
    command = [sys.executable, SERVE, f"page:{app}", "--port", "0", *options]
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "tests"))
    return Program(command, folder, PYTHONPATH=paths)


@contextlib.contextmanager
def connected(server: Program) -> Iterator[Client]:
    """Connect to the server, as soon as it serves."""
    port = int(until(server, r"Serving on .*:(\d+)$")[1])
    with socket.create_connection(("127.0.0.1", port), LIMIT) as connection:
        client = Client(connection)
        with client.reader:
            yield client


# ---- requests -------------------------------------------------------------------------------


def test_requests_have_the_state_each_in_a_copy(tmp_path: Path) -> None:
    """Several on one connection: what they share is shared, what they set is their own."""
    with serve(tmp_path, "app") as server:
        with connected(server) as client:
            head, body = client.asks("GET /?x=1 HTTP/1.1\n\n")
            assert head.startswith("HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: ")
            assert body == "1 1  x=1"
            assert client.asks("POST / HTTP/1.1\nContent-Length: 3\n\nabc")[1] == "2 1 abc "
            assert client.asks("GET /after HTTP/1.1\n\n")[1] == "3 1  "
            until(server, "http.disconnect")
            client.sends("POST /unread HTTP/1.1\nContent-Length: 5\n\n12345")
            client.sends("GET /two HTTP/1.1\nConnection: close\n\n")
            assert client.hears()[1] == "4 1  "
            head, body = client.hears()
            assert "connection: close\r\n" in head
            assert body == "5 1  "
            assert client.reader.read() == b""
        output = ended(server, signal.SIGTERM)
    assert server.process.returncode == 0
    assert (output[:5], output[-6:]) == ("open\n", "close\n")


def test_clients_that_leave(tmp_path: Path) -> None:
    """In the middle of head or body, or while the application works: it hears of it."""
    with serve(tmp_path, "app") as server:
        for request in ("", "GET / HT", "POST / HTTP/1.1\nContent-Length: 3\n\na"):
            with connected(server) as client:
                client.sends(request)
        with connected(server) as client:
            client.sends("GET /waits HTTP/1.1\n\n")
            until(server, "asked")
        until(server, "http.disconnect")
        assert "Traceback" not in ended(server, signal.SIGTERM)
    assert server.process.returncode == 0


# ---- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_in_work_is_answered(tmp_path: Path, number: signal.Signals) -> None:
    """After the signal nobody can connect, and shutdown comes after the answer."""
    with serve(tmp_path, "app", "--drain", "60") as server:
        with connected(server) as idle, connected(server) as busy:
            idle.asks("GET / HTTP/1.1\n\n")
            busy.sends("GET /slow HTTP/1.1\n\n")
            until(server, "asked")
            server.process.send_signal(number)
            assert idle.reader.read() == b""
            with pytest.raises(ConnectionRefusedError), connected(server):
                pass
            assert "close" not in server.lines
            assert busy.hears()[1].startswith("2 1 ")
            assert busy.reader.read() == b""
        assert ended(server).endswith("asked\nclose\n")
    assert server.process.returncode == 0


@pytest.mark.parametrize(("limit", "second"), [("0.2", []), ("60", [signal.SIGINT])])
def test_a_request_that_does_not_end_is_cancelled(
    tmp_path: Path, limit: str, second: list[signal.Signals]
) -> None:
    """At the limit, or by a second signal; shutdown is offered all the same."""
    with (
        serve(tmp_path, "app", "--drain", limit) as server,
        connected(server) as idle,
        connected(server) as client,
    ):
        idle.asks("GET / HTTP/1.1\n\n")
        client.sends("GET /stubborn HTTP/1.1\n\n")
        until(server, "asked")
        server.process.send_signal(signal.SIGTERM)
        assert idle.reader.read() == b""  # it has begun to close them
        assert ended(server, *second).endswith("asked\ncancelled\nclose\n")
    assert server.process.returncode == 0


TOO_LATE = "ERROR: The application did not answer {} within 0.2 s: it was still running\n"
SERVES = "Serving on"


@pytest.mark.parametrize(
    ("app", "options", "signal_after", "status", "sentence"),
    [
        ("starts_slowly", ["--startup-timeout", "0.2"], [], 3, TOO_LATE.format("startup")),
        ("crashes", ["--with-app"], [], 1, "RuntimeError: the worker died\n"),
        ("nothing", [], [], 1, "AttributeError: module 'page' has no attribute 'nothing'\n"),
        ("app", ["--no-such-option"], [], 2, "error: unrecognized arguments: --no-such-option\n"),
        (
            "ignores",
            ["--startup-timeout", "0.1", "--grace", "0.1"],
            *([], 3, "ERROR: The application ignores its cancellation: exiting without it\n"),
        ),
        (
            "fails_to_stop",
            *([], [SERVES], 1, "ERROR: The application failed to shut down: 3 jobs are lost\n"),
        ),
        ("hangs", ["--shutdown-timeout", "0.2"], [SERVES], 1, TOO_LATE.format("shutdown")),
        (
            "crashes",
            *([], ["the worker died"], 1),
            "ERROR: The application crashed while the server was running: ",
        ),
        (
            "stops_slowly",
            *([], [SERVES, "stopping"], 1),
            "ERROR: A second signal cut the shutdown of the application off\n",
        ),
    ],
)
def test_an_end_that_fails(
    tmp_path: Path,
    app: str,
    options: list[str],
    signal_after: list[str],
    status: int,
    sentence: str,
) -> None:
    """The server says why it ends, and has an exit status of its own; SIGTERM follows a line."""
    with serve(tmp_path, app, *options) as server:
        for line in signal_after:
            until(server, line)
            server.process.send_signal(signal.SIGTERM)
        assert sentence in ended(server)
    assert server.process.returncode == status


HTTP = ["Exchange", "first_byte", "main", "read_head"]  # which the page leaves to the download


def test_the_page_shows_all_that_has_to_do_with_the_lifespan() -> None:
    page = (ROOT / "docs" / "write-server.md").read_text(encoding="utf-8")
    shown = re.findall(r"^:(?:pyobject:|start-at: def) (\w+)", page, re.MULTILINE)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(SERVE.read_text(encoding="utf-8"))
    assert sorted([*shown, *HTTP]) == sorted(
        node.name for node in tree.body if isinstance(node, kinds)
    )
    assert ":end-at: log =\n" in page
