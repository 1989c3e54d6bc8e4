"""Play the server for an application of a framework, and print what it did: `make frameworks`.

    python tests/measure/drive.py PROGRAM [QUESTION...]

PROGRAM is a file that defines `app` and takes its resources from `resources.py` beside it.  A
question is a run in a process of its own: which events the application gets, what goes wrong in
`connect` or `disconnect`, and when the call is cancelled.  What is printed is JSON: by question,
what happened, in the order of time.  It uses the standard library alone.
"""

import asyncio
import contextlib
import contextvars
import gc
import importlib
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["QUESTIONS", "Question", "Run", "main", "observed"]

Happening = list[Any]
PATIENCE = 1.0  # seconds, in which an application answers that waits for nothing
LIMIT = 30  # seconds for a question
OPENED = contextvars.ContextVar("OPENED", default=False)
TRACEBACK = "Traceback (most recent call last):"
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: no part of a record


class Question(NamedTuple):
    """What an application gets.

    `fault` is function, resource and what happens there: "raises" or "hangs".  With `cancel` the
    call is cancelled after the last of the events.  With `wait` the application serves for a while,
    in which a task of its own can fail.
    """

    events: Sequence[str] = ("lifespan.startup", "lifespan.shutdown")
    fault: tuple[str, str, str] = ("", "", "")
    cancel: bool = False
    type: str = "lifespan"
    state: bool = True
    spec_version: bool = True
    asgi: bool = True
    request: str = ""  # the path
    socket: str = ""  # the path of a WebSocket
    wait: float = 0
    times: int = 1


CLOSES = ["loop closes"]
STARTED = ("lifespan.startup",)
QUESTIONS = {
    "usual": Question(request="/"),
    "startup raises": Question(STARTED, ("connect", "cache", "raises")),
    "shutdown raises": Question(fault=("disconnect", "cache", "raises")),
    "startup is cancelled": Question(STARTED, ("connect", "cache", "hangs"), cancel=True),
    "shutdown is cancelled": Question(fault=("disconnect", "cache", "hangs"), cancel=True),
    "serving is cancelled": Question(STARTED, cancel=True),
    "no state": Question(state=False, request="/"),
    "no spec_version": Question(spec_version=False),
    "no asgi": Question(asgi=False),
    "no lifespan": Question((), request="/"),
    "twice": Question(times=2),
    "shutdown first": Question(("lifespan.shutdown",)),
    "other event first": Question(("lifespan.other", "lifespan.startup", "lifespan.shutdown")),
    "startup twice": Question((*STARTED, *STARTED, "lifespan.shutdown")),
    "other scope": Question((), type="other"),
    "mounted": Question(request="/inner/"),
    "state": Question(request="/", socket="/socket"),
    "a task raises": Question(wait=0.5),
}
COMMON = [*QUESTIONS][:-3]  # to every program


class Run:
    """One application, one question, and what happens."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.happened: list[Happening] = []
        self.state: dict[str, Any] = {}
        self.hooks: set[asyncio.Task[Any] | None] = set()
        self.kept: list[bool] = []  # at each clean-up: whether it sees the context of the startup

    async def resource(self, function: str, name: str) -> str:
        """Stand in for `connect` and `disconnect`."""
        self.note(function, name)
        self.hooks.add(asyncio.current_task())
        if function == "disconnect":
            self.kept.append(OPENED.get())
        if (function, name) == self.question.fault[:2] and CLOSES not in self.happened:
            await self._fault(self.question.fault[2])
        OPENED.set(True)
        return name

    async def _fault(self, what: str) -> None:
        if what == "raises":
            raise OSError("no cache")
        try:
            await asyncio.sleep(LIMIT)
        finally:
            self.note("stopped waiting")

    def note(self, *happening: Any) -> None:
        """Add what has just happened."""
        self.happened.append([*happening])

    async def lifespan(self, app: Callable[..., Awaitable[None]]) -> None:
        """Call the application once, and send it the events; each after the answer to the last."""
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        answered = asyncio.Event()

        async def receive() -> dict[str, str]:
            return await events.get()

        async def send(message: dict[str, Any]) -> None:
            text = [clean(message["message"])] if "message" in message else []
            self.note("sent", message.get("type"), *text)
            answered.set()

        async def call() -> None:
            await app(self.scope(self.question.type), receive, send)

        task = asyncio.create_task(call())
        for event in self.question.events:
            if task.done() or self.failed:
                break
            answered.clear()
            self.note("event", event)
            events.put_nowait({"type": event})
            await first(task, answered)
            if event == "lifespan.startup":
                await asyncio.wait({task}, timeout=self.question.wait)
            if self.question.request and event == "lifespan.startup" and not self.failed:
                await self.requested(app)
                if self.question.socket:
                    await self.connected(app)
        await self.ended(task)

    def unnoticed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note what nobody has awaited, and Python logs."""
        if "exception" in context:
            self.note("python logs", type(context["exception"]).__name__)

    @property
    def failed(self) -> bool:
        """Tell whether the application sent a failure: a server sends it no further event."""
        return any(each[0] == "sent" and str(each[1]).endswith("failed") for each in self.happened)

    async def ended(self, task: asyncio.Task[None]) -> None:
        """Note how the call ends: by itself, or cancelled."""
        if not self.question.cancel:
            await asyncio.wait({task}, timeout=PATIENCE)
        if not task.done():
            self.note("cancelled" if self.question.cancel else "waits")
            task.cancel()
            await asyncio.wait({task}, timeout=PATIENCE)
        if not task.done():
            self.note("ignores cancellation")
        elif task.cancelled():
            self.note("ends cancelled")
        elif error := task.exception():
            self.note("raised", type(error).__name__, clean(str(error)))
        else:
            self.note("returned")

    def scope(self, kind: str) -> dict[str, Any]:
        """Return the scope of a lifespan, or of a request with the state as it then is."""
        scope: dict[str, Any] = {"type": kind}
        if self.question.asgi:
            scope["asgi"] = {"version": "3.0"}
        if self.question.asgi and self.question.spec_version:
            scope["asgi"]["spec_version"] = "2.0"
        if self.question.state:
            scope["state"] = self.state if kind == self.question.type else dict(self.state)
        return scope

    def connection(self, kind: str, path: str) -> dict[str, Any]:
        """Return the scope of a request or a WebSocket."""
        return self.scope(kind) | {
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "scheme": "ws" if kind == "websocket" else kind,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1:8000"), (b"accept", b"*/*")],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        }

    async def connected(self, app: Callable[..., Awaitable[None]]) -> None:
        """Open a WebSocket, which the application closes."""
        scope = self.connection("websocket", self.question.socket) | {"subprotocols": []}
        events = [{"type": "websocket.connect"}]

        async def receive() -> dict[str, Any]:
            return events.pop() if events else {"type": "websocket.disconnect", "code": 1000}

        async def send(_message: dict[str, Any]) -> None:
            """Drop what it sends."""

        async with asyncio.timeout(5):
            await app(scope, receive, send)

    async def requested(self, app: Callable[..., Awaitable[None]]) -> None:
        """Make a request; note status and body, or what is raised."""
        self.note("state", *sorted(self.state))
        scope = self.connection("http", self.question.request) | {"method": "GET"}
        body, status, more = b"", 0, [{"type": "http.request", "body": b"", "more_body": False}]
        answered = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if more:
                return more.pop()
            await answered.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            nonlocal body, status
            status = message.get("status", status)
            body += message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body"):
                answered.set()

        try:
            async with asyncio.timeout(5):
                await app(scope, receive, send)
        except Exception as error:
            self.note("request raised", type(error).__name__, clean(str(error)))
        else:
            self.note("request", status, body.decode() if status < 400 else "")

    async def play(self, app: Callable[..., Awaitable[None]]) -> list[Happening]:
        """Play the question; return what happened."""
        asyncio.get_running_loop().set_exception_handler(self.unnoticed)
        if not self.question.events and self.question.request:
            await self.requested(app)
        else:
            for _ in range(self.question.times):
                await self.lifespan(app)
                self.state = {}
        gc.collect()  # a task that is not referred to any more says what nobody has awaited
        await asyncio.sleep(0.05)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        self.note("tasks left", len(left))
        if self.kept:
            self.note("tasks of hooks", len(self.hooks))
            self.note("context kept", all(self.kept))
        self.note(*CLOSES)  # which ends the asynchronous generators that are still open
        return self.happened


async def first(task: asyncio.Task[None], answered: asyncio.Event) -> None:
    """Wait until the application has answered, or ended, or shows no sign of it."""
    waiting = asyncio.create_task(answered.wait())
    await asyncio.wait({task, waiting}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting


def clean(text: str) -> str:
    """Return a text without what differs from run to run; of a traceback first and last."""
    lines = [line.strip(" |+-") for line in ADDRESS.sub("0x…", text).splitlines()]
    lines = [line for line in lines if line]
    if lines and TRACEBACK in lines[0]:
        lines = [TRACEBACK, lines[-1]]
    return "\n".join(lines)[:300]


class Stage:
    """Stands for `resources.py`: what the program calls is passed to the run that is on."""

    run: Run

    async def connect(self, name: str) -> str:
        """Open a resource."""
        return await self.run.resource("connect", name)

    async def disconnect(self, name: str) -> None:
        """Close a resource."""
        await self.run.resource("disconnect", name)

    def seen(self, where: str, value: str) -> None:
        """Tell where the state is seen."""
        self.run.note("sees", where, value)


def loaded(program: Path, stage: Stage) -> Any:
    """Import a program, with resources of ours; return its application."""
    sys.path.insert(0, str(program.parent))
    resources: Any = importlib.import_module("resources")
    resources.connect, resources.disconnect = stage.connect, stage.disconnect
    resources.seen = stage.seen
    return importlib.import_module(program.stem).app


def in_a_process(app: Any, stage: Stage, question: Question) -> list[Happening]:
    """Ask a question in a copy of this process, which has a limit; return what happened."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(LIMIT)
        os.close(read)
        stage.run = Run(question)
        found = asyncio.run(stage.run.play(app))
        with os.fdopen(write, "w", encoding="utf-8") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        output = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(output) if output else [["did not end"]]


def observed(program: Path, names: Sequence[str] = ()) -> dict[str, list[Happening]]:
    """Ask the questions, or those that are named; return what happened, by question."""
    stage = Stage()
    app = loaded(program.absolute(), stage)
    return {name: in_a_process(app, stage, QUESTIONS[name]) for name in names or COMMON}


def main(arguments: Sequence[str]) -> int:
    """Print what a program does, as JSON; what it prints itself goes to standard error."""
    warnings.simplefilter("ignore")
    stdout, sys.stdout = sys.stdout, sys.stderr
    program, *names = arguments
    json.dump(observed(Path(program), names), stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
