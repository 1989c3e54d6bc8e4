"""Serves an application through a driver that was made for tests, so that it can be put on trial.

    python tests/matrix/drivers.py NAME module:attribute --port PORT

The driver takes the application through its lifespan; each request goes through the client that
belongs to it.  SIGTERM and SIGINT end the block of the driver.
"""

import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DRIVERS", "main"]

Get = Callable[[str], bytes]  # makes a request; returns the body of the response


@contextmanager
def starlette(app: Any) -> Iterator[Get]:
    """Drive with Starlette's test client."""
    from starlette.testclient import TestClient  # noqa: PLC0415  only one of them is needed

    with TestClient(app) as client:
        yield lambda path: bytes(client.get(path).content)


@contextmanager
def litestar(app: Any) -> Iterator[Get]:
    """Drive with Litestar's test client."""
    from litestar.testing import TestClient  # noqa: PLC0415

    with TestClient(app) as client:
        yield lambda path: bytes(client.get(path).content)


@contextmanager
def asgi_lifespan(app: Any) -> Iterator[Get]:
    """Drive with the manager of asgi-lifespan, and httpx."""
    import httpx  # noqa: PLC0415
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415
    from asgi_lifespan import LifespanManager  # noqa: PLC0415

    async def get(managed: Any, path: str) -> bytes:
        transport = httpx.ASGITransport(managed)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return (await client.get(path)).content

    async def made() -> Any:
        return LifespanManager(app)

    with start_blocking_portal() as portal:
        manager = portal.call(made)
        with portal.wrap_async_context_manager(manager):
            yield lambda path: portal.call(get, manager.app, path)


DRIVERS: dict[str, Callable[[Any], AbstractContextManager[Get]]] = {
    "starlette": starlette,
    "litestar": litestar,
    "asgi-lifespan": asgi_lifespan,
}


class Server(ThreadingHTTPServer):
    """Hands each request to the driver's client; waits at its end for those that are open."""

    daemon_threads = False
    get: Get


class Handler(BaseHTTPRequestHandler):
    """Answers with what the driver's client returns."""

    server: Server

    def do_GET(self) -> None:
        """Make the request."""
        body = self.server.get(self.path)
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(name: str, target: str, port: int) -> None:
    """Serve until a signal comes."""
    module, _, attribute = target.partition(":")
    app = getattr(importlib.import_module(module), attribute)
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    server = Server(("127.0.0.1", port), Handler, bind_and_activate=False)
    with DRIVERS[name](app) as server.get:
        server.server_bind()
        server.server_activate()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        told.wait()
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[4]))
