"""Puts a driver behind a port, so that it can be checked like a server.

    python tests/measure/client_host.py NAME MODULE:ATTRIBUTE PORT

It starts the driver of that name with the application, as a test would, passes on what is asked
at the port, and leaves the driver when SIGTERM comes.  Whatever the driver raises ends it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import traceback
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from socketserver import ThreadingTCPServer
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    Asked = Callable[[str], Future[bytes]]
    Blocking = Callable[[Any], AbstractContextManager[Callable[[str], bytes]]]
    Asynchronous = Callable[[Any], AbstractAsyncContextManager[Callable[[str], Awaitable[bytes]]]]

__all__ = ["DRIVERS", "RAISED", "Driver", "main"]

TEST = "async def test_it(amgi_producer, within):\n    await within(amgi_producer)\n"
INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
RAISED = 70  # the exit status if the driver raised an exception
VERSIONS = {"version": "2.0", "spec_version": "2.0"}


# ---- how each driver is used: a request's path is given, what the application answers returned --


@contextmanager
def _client(app: Any, module: str) -> Iterator[Callable[[str], bytes]]:
    """Use a test client of Starlette's kind."""
    with import_module(module).TestClient(app) as client:
        yield lambda path: bytes(client.get(path).content)


def _starlette(app: Any) -> AbstractContextManager[Callable[[str], bytes]]:
    return _client(app, "starlette.testclient")


def _litestar(app: Any) -> AbstractContextManager[Callable[[str], bytes]]:
    """Let an application of Litestar stand for the one that is given: others get no state."""

    async def call(_: Any, scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    outer = type("Outer", (import_module("litestar").Litestar,), {"__call__": call})
    return _client(outer(), "litestar.testing")


@contextmanager
def _mangum(app: Any) -> Iterator[Callable[[str], bytes]]:
    """Call the handler as a function behind an HTTP API is called."""
    handler = import_module("mangum").Mangum(app)

    def ask(path: str) -> bytes:
        http = {"method": "GET", "path": path, "sourceIp": "127.0.0.1", "protocol": "HTTP/1.1"}
        event = {
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"host": "127.0.0.1"},
            "requestContext": {"http": http},
            "isBase64Encoded": False,
        }
        return str(handler(event, None)["body"]).encode()

    yield ask


@asynccontextmanager
async def _asgi_lifespan(app: Any) -> AsyncIterator[Callable[[str], Awaitable[bytes]]]:
    async with import_module("asgi_lifespan").LifespanManager(app) as manager:
        yield lambda path: _requested(manager.app, _http(path))


@asynccontextmanager
async def _lifespec(app: Any) -> AsyncIterator[Callable[[str], Awaitable[bytes]]]:
    async with import_module("lifespec").Lifespan(app) as lifespan:
        yield lambda path: _requested(app, lifespan.with_state(_http(path)))


@asynccontextmanager
async def _quart(app: Any) -> AsyncIterator[Callable[[str], Awaitable[bytes]]]:
    """Let an application of Quart stand before the one that is given, as middleware would."""
    outer = import_module("quart").Quart("lifespec")
    outer.asgi_app = app
    async with outer.test_app() as tested:
        client = tested.test_client()

        async def ask(path: str) -> bytes:
            return bytes(await (await client.get(path)).get_data())

        yield ask


@asynccontextmanager
async def _amgi_common(app: Any) -> AsyncIterator[Callable[[str], Awaitable[bytes]]]:
    """Do as the servers do that use it: they copy the state themselves."""
    async with import_module("amgi_common").Lifespan(app) as state:
        yield lambda path: _requested(app, _message(path) | {"state": state.copy()})


@asynccontextmanager
async def _pytest_amgi(fixture: Any, app: Any) -> AsyncIterator[Callable[[str], Awaitable[bytes]]]:
    producer = await fixture(app)

    async def ask(path: str) -> bytes:
        await producer.send("lifespec", payload=path)
        return b""

    yield ask


def _http(path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [],
    }


def _message(path: str) -> dict[str, Any]:
    about = {"type": "message", "amgi": VERSIONS, "address": "lifespec", "headers": []}
    return {**about, "payload": path.encode()}


async def _requested(app: Any, scope: dict[str, Any]) -> bytes:
    """Call an application for a request or a message; return the body of its answer."""
    sent: list[bytes] = []

    async def send(event: Any) -> None:
        sent.append(event.get("body", b""))

    await app(scope, None, send)
    return b"".join(sent)


# ---- the port, and the end ----------------------------------------------------------------------


@contextmanager
def _listening(port: int, asked: Asked) -> Iterator[None]:
    """Answer requests from threads of their own, while this lasts."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with what the application said, or with status 500."""
            try:
                status, body = 200, asked(self.path).result()
            except Exception as error:
                status, body = 500, repr(error).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the output is the driver's."""

    class Server(ThreadingTCPServer):  # that of http.server asks for the name of its host
        daemon_threads = allow_reuse_address = True
        block_on_close = False

    with Server(("127.0.0.1", port), Door) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def _when_told_to_stop(do: Callable[[], object]) -> None:
    """Do something when SIGTERM comes, in a thread that waits for it and for nothing else.

    A handler would run in the main thread, which waits for a question: that wait may miss it.
    """

    def wait() -> None:
        signal.sigwait([signal.SIGTERM])
        do()

    threading.Thread(target=wait, name="SIGTERM", daemon=True).start()


def _block(driver: Blocking, app: Any, port: int) -> None:
    """Use a driver that blocks; all is asked in this thread, one after the other, as in a test."""
    questions: SimpleQueue[tuple[str, Future[bytes]] | None] = SimpleQueue()
    _when_told_to_stop(lambda: questions.put(None))

    def asked(path: str) -> Future[bytes]:
        answer: Future[bytes] = Future()
        questions.put((path, answer))
        return answer

    with driver(app) as ask, _listening(port, asked):
        while question := questions.get():
            path, answer = question
            try:
                answer.set_result(ask(path))
            except Exception as error:
                answer.set_exception(error)
                raise


def _run(driver: Asynchronous, app: Any, port: int) -> None:
    """Use an asynchronous driver; what is asked are tasks in its loop."""
    asyncio.run(_within(driver, app, port))


async def _within(driver: Asynchronous, app: Any, port: int) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    _when_told_to_stop(lambda: loop.call_soon_threadsafe(stop.set))

    async with driver(app) as ask:

        async def answered(path: str) -> bytes:
            return await ask(path)

        def asked(path: str) -> Future[bytes]:
            return asyncio.run_coroutine_threadsafe(answered(path), loop)

        with _listening(port, asked):
            await stop.wait()


def _test(driver: Any, app: Any, port: int) -> None:
    """Use a driver that is a fixture of pytest: within a test."""
    pytest = import_module("pytest")

    class Given:
        @pytest.fixture  # type: ignore[untyped-decorator]
        def within(self) -> Callable[[Any], Awaitable[None]]:
            return lambda fixture: _within(partial(driver, fixture), app, port)

    with TemporaryDirectory() as folder:
        Path(folder, "pytest.ini").write_text(INI, "utf-8")
        Path(folder, "test_it.py").write_text(TEST, "utf-8")
        status = pytest.main([folder, "-qs", "-p", "no:cacheprovider"], plugins=[Given()])
    sys.exit(RAISED if status == pytest.ExitCode.TESTS_FAILED else int(status))


class Driver(NamedTuple):
    """A driver: the module to have installed, its protocol, its adapter, and who uses that."""

    module: str
    protocol: str
    driver: Any
    used: Callable[[Any, Any, int], None]


DRIVERS = {
    "lifespec": Driver("lifespec", "asgi", _lifespec, _run),
    "asgi-lifespan": Driver("asgi_lifespan", "asgi", _asgi_lifespan, _run),
    "starlette": Driver("starlette", "asgi", _starlette, _block),
    "litestar": Driver("litestar", "asgi", _litestar, _block),
    "quart": Driver("quart", "asgi", _quart, _run),
    "mangum": Driver("mangum", "asgi", _mangum, _block),
    "amgi-common": Driver("amgi_common", "amgi", _amgi_common, _run),
    "pytest-amgi": Driver("pytest_amgi", "amgi", _pytest_amgi, _test),
}


def main(arguments: Sequence[str]) -> None:
    """Put a driver behind a port; SystemExit with a sentence where it is not installed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # for all threads to come
    name, target, port = arguments
    driver = DRIVERS[name]
    try:
        import_module(driver.module)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{name} is not installed here: {error}") from None
    module, _, attribute = target.partition(":")
    app = getattr(import_module(module), attribute)
    try:
        driver.used(driver.driver, app, int(port))
    except Exception:
        traceback.print_exc()
        sys.exit(RAISED)


if __name__ == "__main__":
    main(sys.argv[1:])
