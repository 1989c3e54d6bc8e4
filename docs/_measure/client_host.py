"""Put a test client or an adapter behind a port, so that it can be checked like a server.

    python docs/_measure/client_host.py NAME MODULE:ATTRIBUTE PORT

It starts the client of that name with the application, as a test would, passes the requests at the
port to it, and leaves it at SIGTERM.  An exception of the client ends the process.
"""

import asyncio
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from queue import SimpleQueue
from socketserver import ThreadingTCPServer
from typing import Any

from records import connection

Ask = Callable[[str], bytes]  # takes the path of a request, and returns the body of the answer
AskAsync = Callable[[str], Awaitable[bytes]]
RAISED = 70  # the exit status if the client raised an exception


@contextmanager
def _starlette(app: Any, module: str = "starlette.testclient") -> Iterator[Ask]:
    with import_module(module).TestClient(app) as client:
        yield lambda path: bytes(client.get(path).content)


def _litestar(app: Any) -> AbstractContextManager[Ask]:
    """Wrap the application in one of Litestar: others get no state."""

    async def call(_: Any, scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    outer = type("Outer", (import_module("litestar").Litestar,), {"__call__": call})
    return _starlette(outer(), "litestar.testing")


@contextmanager
def _mangum(app: Any) -> Iterator[Ask]:
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
async def _asgi_lifespan(app: Any) -> AsyncIterator[AskAsync]:
    async with import_module("asgi_lifespan").LifespanManager(app) as manager:

        async def ask(path: str) -> bytes:
            sent: list[bytes] = []

            async def send(event: Any) -> None:
                sent.append(event.get("body", b""))

            await manager.app(connection("http", path), None, send)
            return b"".join(sent)

        yield ask


@asynccontextmanager
async def _quart(app: Any) -> AsyncIterator[AskAsync]:
    """Put an application of Quart before the application, as middleware would."""
    outer = import_module("quart").Quart("lifespec")
    outer.asgi_app = app
    async with outer.test_app() as tested:
        client = tested.test_client()

        async def ask(path: str) -> bytes:
            return bytes(await (await client.get(path)).get_data())

        yield ask


@contextmanager
def _listening(port: int, answer: Callable[[str], Future[bytes]]) -> Iterator[None]:
    """Answer requests from threads of their own, while this lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the body of the application, or with status 500."""
            try:
                status, body = 200, answer(self.path).result()
            except Exception as error:
                status, body = 500, repr(error).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: the output is the client's."""

    class Server(ThreadingTCPServer):  # that of http.server looks up the name of its host
        daemon_threads = allow_reuse_address = True
        block_on_close = False

    with Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def _at_sigterm(do: Callable[[], object]) -> None:
    """Call a function at SIGTERM, in a thread that waits for it and for nothing else.

    A handler would run in the main thread, which waits for a request: that wait may miss it.
    """

    def wait() -> None:
        signal.sigwait([signal.SIGTERM])
        do()

    threading.Thread(target=wait, name="SIGTERM", daemon=True).start()


def _block(client: Any, app: Any, port: int) -> None:
    """Use a client that blocks; it makes all requests in this thread, as in a test."""
    requests: SimpleQueue[tuple[str, Future[bytes]] | None] = SimpleQueue()
    _at_sigterm(lambda: requests.put(None))

    def put(path: str) -> Future[bytes]:
        answer: Future[bytes] = Future()
        requests.put((path, answer))
        return answer

    with client(app) as ask, _listening(port, put):
        while request := requests.get():
            path, answer = request
            try:
                answer.set_result(ask(path))
            except Exception as error:
                answer.set_exception(error)
                raise


async def _within(client: Any, app: Any, port: int) -> None:
    """Use an asynchronous client; each request is a task in its loop."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    _at_sigterm(lambda: loop.call_soon_threadsafe(stop.set))

    async with client(app) as ask:
        with _listening(port, lambda path: asyncio.run_coroutine_threadsafe(ask(path), loop)):
            await stop.wait()


BLOCKING = {"litestar": _litestar, "mangum": _mangum, "starlette": _starlette}
ASYNCHRONOUS = {"asgi-lifespan": _asgi_lifespan, "quart": _quart}


def main(name: str, target: str, port: str) -> None:
    """Put a client behind a port."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # for all threads to come
    module, _, attribute = target.partition(":")
    app = getattr(import_module(module), attribute)
    try:
        if name in BLOCKING:
            _block(BLOCKING[name], app, int(port))
        else:
            asyncio.run(_within(ASYNCHRONOUS[name], app, int(port)))
    except Exception:
        traceback.print_exc()
        sys.exit(RAISED)


if __name__ == "__main__":
    main(*sys.argv[1:])
