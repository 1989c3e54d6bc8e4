"""A small HTTP/1.1 server for ASGI applications, with lifespan and graceful shutdown.

    python serve.py module:app --port 8000

SIGINT and SIGTERM stop it; a second signal closes the remaining connections immediately.

Exit status:
    0  a signal stopped the server during startup, or it stopped the server, and the
       application shut down or has no lifespan
    1  the port is in use, the application crashed or failed to shut down, or a second
       signal cut its shutdown off
    2  the arguments are invalid
    3  the application failed to start
"""

import argparse
import asyncio
import contextlib
import importlib
import logging
import os
import signal
import socket
import sys
from http.client import responses
from urllib.parse import unquote

from lifespec import Lifespan, ShutdownFailed, StartupFailed

log = logging.getLogger("serve")


async def read_head(first, reader):
    """Read the head of a request and return its scope; raise ValueError if it is invalid."""
    head = first + await reader.readuntil(b"\r\n\r\n")
    line, *fields = head[:-4].split(b"\r\n")
    method, target, version = line.decode("ascii").split(" ")
    pairs = [field.split(b":", 1) for field in fields]
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": version.removeprefix("HTTP/"),
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower(), value.strip()) for name, value in pairs],
    }


class Exchange:
    """One request and its response; raise ValueError if the length of the body is unknown."""

    def __init__(self, scope, reader, writer):
        self.scope, self.reader, self.writer = scope, reader, writer
        headers = dict(scope["headers"])
        self.left = int(headers.get(b"content-length", 0))
        if self.left < 0 or b"transfer-encoding" in headers:
            raise ValueError("a body of unknown length")
        close = headers.get(b"connection") == b"close"
        self.lasts = scope["http_version"] == "1.1" and not close
        self.start = self.next = None
        self.begun = self.done = False
        self.over = asyncio.Event()

    async def read(self):
        """Return the next part of the body, or b"" at its end."""
        part = await self.reader.read(min(self.left, 65536))
        if self.left and not part:
            raise EOFError("the client disconnected")
        self.left -= len(part)
        if not self.left:
            self.next = asyncio.create_task(first_byte(self.reader, self.over))
        return part

    async def receive(self):
        """Return the next part of the body, then http.disconnect when the exchange is over."""
        if not self.next:
            with contextlib.suppress(EOFError, OSError):
                part, more = await self.read(), self.left > 0
                return {"type": "http.request", "body": part, "more_body": more}
            self.over.set()
        await self.over.wait()
        return {"type": "http.disconnect"}

    async def send(self, event):
        """Write an event of the response; raise RuntimeError if it is out of order."""
        expected = "http.response.body" if self.start else "http.response.start"
        if event["type"] != expected or self.done:
            raise RuntimeError(f"{event['type']} was sent out of order")
        if not self.start:
            self.start = event
            return
        body, self.done = event.get("body", b""), not event.get("more_body")
        if not self.begun:
            self.begun = True
            self.write_head(len(body) if self.done else None)
        self.writer.write(b"" if self.scope["method"] == "HEAD" else body)
        if self.done:
            self.over.set()
        await self.writer.drain()

    def write_head(self, length):
        """Write the head; close the connection after a body of unknown length."""
        status, headers = self.start["status"], [*self.start.get("headers", ())]
        if not any(name.lower() == b"content-length" for name, _ in headers):
            if length is None:
                self.lasts = False
            elif status not in (204, 304):
                headers.append((b"content-length", b"%d" % length))
        if not self.lasts:
            headers.append((b"connection", b"close"))
        line = f"HTTP/1.1 {status} {responses.get(status, '')}".encode()
        fields = [b"%b: %b" % pair for pair in headers]
        self.writer.write(b"\r\n".join([line, *fields, b"", b""]))


async def first_byte(reader, over):
    """Return the first byte of a request, or b"" if the client has disconnected."""
    byte = b""
    with contextlib.suppress(OSError):
        byte = await reader.read(1)
    if not byte:
        over.set()
    return byte


class Connections:
    """The open connections; each answers its requests one after the other."""

    def __init__(self, app, lifespan):
        self.app, self.lifespan, self.ending = app, lifespan, False
        self.tasks, self.idle = {}, set()  # tasks with their writers

    def accept(self, reader, writer):
        """Start a task for a new connection."""
        task = asyncio.create_task(self.talk(reader, writer))
        self.tasks[task] = writer
        task.add_done_callback(self.tasks.pop)

    async def talk(self, reader, writer):
        """Answer the requests of one connection."""
        try:
            first = asyncio.create_task(first_byte(reader, asyncio.Event()))
            while byte := await self.between(first):
                scope = await read_head(byte, reader)
                exchange = Exchange(scope, reader, writer)
                first = await self.answer(exchange)
        except (ValueError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        except (EOFError, OSError) as error:
            log.debug("A client disconnected during a request: %r", error)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def between(self, first):
        """Wait for the first byte of the next request; return b"" if there is none."""
        if self.ending or not first:
            return b""
        task = asyncio.current_task()
        self.idle.add(task)
        try:
            return await first
        finally:
            self.idle.discard(task)

    async def answer(self, exchange):
        """Answer a request; return the task that waits for the next one, or None."""
        scope = self.lifespan.with_state(exchange.scope)
        try:
            call = self.app(scope, exchange.receive, exchange.send)
            await asyncio.ensure_future(call)  # in a copy of the context
        except Exception:
            left = exchange.writer.is_closing()
            level = logging.DEBUG if left else logging.ERROR
            log.log(level, "The application raised", exc_info=True)
        if not exchange.begun:
            exchange.start, exchange.lasts = {"status": 500}, False
            await exchange.send({"type": "http.response.body"})
        if not exchange.done or not exchange.lasts:
            return None
        while not exchange.next:
            await exchange.read()
        return exchange.next

    async def close(self, seconds):
        """Close idle connections now, and the others when they have answered."""
        self.ending = True
        for task in self.idle:
            task.cancel()
        try:
            await wait_for(self.tasks, seconds)
        finally:
            for task in await wait_for(self.tasks, 2, cancel=True):
                self.tasks[task].transport.abort()  # before the application shuts down


async def wait_for(tasks, seconds, *, cancel=False):
    """Wait for tasks up to a number of seconds; return those that still run."""
    for task in tasks if cancel else ():
        task.cancel()
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else tasks


async def serve(app, lifespan, sock, options):
    """Start the application, serve until this task is cancelled, stop the application."""
    async with lifespan:
        connections = Connections(app, lifespan)
        server = await asyncio.start_server(
            connections.accept, sock=sock, start_serving=False
        )
        try:
            await server.start_serving()
            log.info("Serving on http://%s:%d", *sock.getsockname())
            with_app = options.with_app and lifespan.supported
            await (lifespan.wait_ended() if with_app else asyncio.Event().wait())
        except asyncio.CancelledError:
            asyncio.current_task().uncancel()
        finally:
            server.close()
            await connections.close(options.drain)
    return 0 if lifespan.outcome in ("complete", "unsupported") else 1


def status_when_cancelled(lifespan):
    """Return the exit status if a signal cancelled startup or a second one shutdown."""
    if lifespan.supported and lifespan.outcome == "cancelled":
        log.error("A second signal cut the shutdown of the application off")
        return 1
    return 0


async def until_signal(app, sock, options):
    """Serve until a signal arrives; return the exit status."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    names = "startup_timeout", "shutdown_timeout", "grace"
    lifespan = Lifespan(app, **{name: getattr(options, name) for name in names})
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        status = await serve(app, lifespan, sock, options)
    except asyncio.CancelledError:
        status = status_when_cancelled(lifespan)
    except StartupFailed:
        status = 3
    except ShutdownFailed:
        status = 1
    if await wait_for(asyncio.all_tasks() - {task}, 1, cancel=True):
        log.error("The application ignores its cancellation: exiting without it")
        sys.stdout.flush()
        os._exit(status)
    return status


def main():
    """Parse the arguments, import the application, bind the port, and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("app", help="module:attribute")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--drain", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--startup-timeout", type=float, metavar="SECONDS")
    parser.add_argument("--shutdown-timeout", type=float, metavar="SECONDS")
    parser.add_argument("--grace", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--with-app", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    sys.path.insert(0, "")
    module, _, attribute = options.app.partition(":")
    app = getattr(importlib.import_module(module), attribute)
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", options.port))
        except OSError as error:
            return f"Cannot listen on port {options.port}: {error.strerror}"
        return asyncio.run(until_signal(app, sock, options))


if __name__ == "__main__":
    sys.exit(main())
