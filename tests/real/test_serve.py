"""The server of the page "Write an ASGI server", as a process on a loopback port."""

import ast
import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes five
DOCS = Path(__file__).parents[2] / "docs"
SERVE = DOCS / "programs" / "serve.py"
APP = """
import asyncio
import contextvars

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


async def starts_slowly(scope, receive, send):
    await receive()
    print("starting", flush=True)
    try:
        await asyncio.sleep(600)
    finally:
        print("cleaned up", flush=True)


async def fails_to_stop(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.failed", "message": "3 jobs are lost"})


async def hangs(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    print("hanging", flush=True)
    await asyncio.sleep(600)


async def ignores(scope, receive, send):
    await receive()
    print("starting", flush=True)
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            print("no", flush=True)


async def crashes(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await asyncio.sleep(0.1)
    raise RuntimeError("the worker died")
"""


class Server:
    """A process, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""
        self.port = 0

    async def says(self, words: str) -> None:
        """Read up to the line with these words."""
        assert self.process.stdout
        while line := (await self.process.stdout.readline()).decode():
            self.said += line
            if words in line:
                return
        raise EOFError(f"{words!r} is not in: {self.said}")

    async def serves(self) -> None:
        """Wait until it serves, and note where."""
        await self.says("Serving on ")
        self.port = int(re.findall(r":(\d+)\n", self.said)[-1])

    async def end(self, *signals: signal.Signals) -> int:
        """Send signals, one after the other; return the exit status."""
        assert self.process.stdout
        for number in signals:
            self.process.send_signal(number)
        self.said += (await self.process.stdout.read()).decode()
        return await self.process.wait()


class Client:
    """A connection to a server."""

    def __init__(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self.reader, self.writer = streams

    async def asks(self, text: str) -> tuple[str, str]:
        """Send a request, and return head and body of the answer."""
        self.sends(text)
        return await self.hears()

    def sends(self, text: str) -> None:
        """Send; lines end as they do in HTTP."""
        self.writer.write(text.replace("\n", "\r\n").encode())

    async def hears(self) -> tuple[str, str]:
        """Return head and body of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"^content-length: (\d+)\r$", head, re.MULTILINE)
        body = await (self.reader.readexactly(int(length[1])) if length else self.reader.read())
        return head, body.decode()


@contextlib.asynccontextmanager
async def serve(folder: Path, app: str, *options: str) -> AsyncIterator[Server]:
    """Start the server in a folder of its own, on a free port; end it here at last."""
    (folder / "page.py").write_text(APP)
    port = [] if "--port" in options else ["--port", "0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(str(SERVE), f"page:{app}", *port, *options),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(DOCS.parent / "src")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(LIMIT):
            yield Server(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Client]:
    """Connect to the server."""
    client = Client(await asyncio.open_connection("127.0.0.1", server.port))
    try:
        yield client
    finally:
        client.writer.close()


# ---- requests -------------------------------------------------------------------------------


async def test_requests_have_the_state_each_in_a_copy(tmp_path: Path) -> None:
    """Several on one connection: what they share is shared, what they set is their own."""
    async with serve(tmp_path, "app") as server:
        await server.serves()
        async with connected(server) as client:
            head, body = await client.asks("GET /?x=1 HTTP/1.1\n\n")
            assert head.startswith("HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: ")
            assert body == "1 1  x=1"
            assert (await client.asks("POST / HTTP/1.1\nContent-Length: 3\n\nabc"))[1] == "2 1 abc "
            assert (await client.asks("GET /after HTTP/1.1\n\n"))[1] == "3 1  "
            await server.says("http.disconnect")
            client.sends("POST /unread HTTP/1.1\nContent-Length: 5\n\n12345")
            client.sends("GET /two HTTP/1.1\nConnection: close\n\n")
            assert (await client.hears())[1] == "4 1  "
            head, body = await client.hears()
            assert "connection: close\r\n" in head
            assert body == "5 1  "
            assert await client.reader.read() == b""
        assert await server.end(signal.SIGTERM) == 0
    assert server.said.startswith("open\n")
    assert server.said.endswith("close\n")


async def test_clients_that_leave(tmp_path: Path) -> None:
    """In the middle of head or body, or while the application works: it hears of it."""
    async with serve(tmp_path, "app") as server:
        await server.serves()
        for request in ("", "GET / HT", "POST / HTTP/1.1\nContent-Length: 3\n\na"):
            async with connected(server) as client:
                client.sends(request)
        async with connected(server) as client:
            client.sends("GET /waits HTTP/1.1\n\n")
            await server.says("asked")
        await server.says("http.disconnect")
        assert await server.end(signal.SIGTERM) == 0
    assert "Traceback" not in server.said


# ---- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_request_in_work_is_answered(tmp_path: Path, number: signal.Signals) -> None:
    """After the signal nobody can connect, and shutdown comes after the answer."""
    async with serve(tmp_path, "app", "--drain", "60") as server:
        await server.serves()
        async with connected(server) as idle, connected(server) as busy:
            await idle.asks("GET / HTTP/1.1\n\n")
            busy.sends("GET /slow HTTP/1.1\n\n")
            await server.says("asked")
            server.process.send_signal(number)
            assert await idle.reader.read() == b""
            with pytest.raises(OSError, match=r"Connect call failed|refused"):
                await asyncio.open_connection("127.0.0.1", server.port)
            assert "close\n" not in server.said
            assert (await busy.hears())[1].startswith("2 1 ")
            assert await busy.reader.read() == b""
        assert await server.end() == 0
    assert server.said.endswith("asked\nclose\n")


@pytest.mark.parametrize(("limit", "second"), [("0.2", []), ("60", [signal.SIGINT])])
async def test_a_request_that_does_not_end_is_cancelled(
    tmp_path: Path, limit: str, second: list[signal.Signals]
) -> None:
    """At the limit, or by a second signal; shutdown is offered all the same."""
    async with serve(tmp_path, "app", "--drain", limit) as server:
        await server.serves()
        async with connected(server) as idle, connected(server) as client:
            await idle.asks("GET / HTTP/1.1\n\n")
            client.sends("GET /stubborn HTTP/1.1\n\n")
            await server.says("asked")
            server.process.send_signal(signal.SIGTERM)
            assert await idle.reader.read() == b""  # it has begun to close them
            assert await server.end(*second) == 0
    assert server.said.endswith("asked\ncancelled\nclose\n")


@pytest.mark.parametrize(
    ("app", "options", "status", "said"),
    [
        (
            "starts_slowly",
            ["--startup-timeout", "0.2"],
            3,
            "ERROR: The application did not answer startup within 0.2 s: it was still running\n",
        ),
        ("crashes", ["--with-app"], 1, "RuntimeError: the worker died\n"),
        ("nothing", [], 1, "AttributeError: module 'page' has no attribute 'nothing'\n"),
        ("app", ["--no-such-option"], 2, "error: unrecognized arguments: --no-such-option\n"),
    ],
)
async def test_ends_without_a_signal(
    tmp_path: Path, app: str, options: list[str], status: int, said: str
) -> None:
    """Each says why, and has its exit status."""
    async with serve(tmp_path, app, *options) as server:
        assert await server.end() == status
    assert said in server.said


@pytest.mark.parametrize(
    ("app", "options", "said"),
    [
        ("fails_to_stop", [], "ERROR: The application failed to shut down: 3 jobs are lost\n"),
        (
            "hangs",
            ["--shutdown-timeout", "0.2"],
            "ERROR: The application did not answer shutdown within 0.2 s: it was still running\n",
        ),
        ("crashes", [], "ERROR: The application crashed while the server was running: "),
    ],
)
async def test_an_end_that_goes_wrong(
    tmp_path: Path, app: str, options: list[str], said: str
) -> None:
    """The server ends, and says so with its exit status."""
    async with serve(tmp_path, app, *options) as server:
        await server.serves()
        if app == "crashes":
            await server.says("RuntimeError: the worker died")
        assert await server.end(signal.SIGTERM) == 1
    assert said in server.said


async def test_an_application_that_ignores_its_cancellation(tmp_path: Path) -> None:
    """The process ends without it."""
    async with serve(tmp_path, "ignores", "--startup-timeout", "0.1", "--grace", "0.1") as server:
        assert await server.end() == 3
    said = "ERROR: The application ignores its cancellation: exiting without it\n"
    assert server.said.endswith(said)


def test_the_page_shows_all_of_it() -> None:
    """Each function and class of the file is on the page, once."""
    page = (DOCS / "write-server.md").read_text(encoding="utf-8")
    shown = re.findall(r"^:(?:pyobject:|start-at: def) (\w+)", page, re.MULTILINE)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(SERVE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(node.name for node in tree.body if isinstance(node, kinds))
    assert ":end-at: log =\n" in page
