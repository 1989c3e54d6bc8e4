"""Play the server for an application of a framework, and print what it did: `make frameworks`.

    python docs/_measure/drive.py PROGRAM [QUESTION...]

PROGRAM is a file that defines `app` and takes its resources from `resources.py` beside it.  A
question is a run in a process of its own: which events the application gets, what goes wrong in
`connect` or `disconnect`, and when the call is cancelled.  What is printed is JSON: by question,
what happened, in the order of time.  It needs the standard library alone.
"""

import asyncio
import contextvars
import gc
import importlib
import json
import os
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from records import ADDRESS, connection, table

Application = Callable[..., Awaitable[None]]
Happening = list[Any]
PATIENCE = 1.0  # seconds, in which an application answers that waits for nothing
LIMIT = 30  # seconds for a question
OPENED = contextvars.ContextVar("OPENED", default=False)
TRACEBACK = "Traceback (most recent call last):"


class Question(NamedTuple):
    """What an application gets.

    `fault` is function, resource and what happens there: "raises" or "hangs".  With `cancel` the
    call is cancelled after the last of the events.  With `wait` the application serves for a while,
    in which a task of its own can fail.
    """

    events: Sequence[str] = ("lifespan.startup", "lifespan.shutdown")
    fault: Sequence[str] = ("", "", "")
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
ROWS = table("frameworks")
COMMON = ROWS["questions"]  # to every program
QUESTIONS = {name: Question(**row) for name, row in {**COMMON, **ROWS["variant-questions"]}.items()}


class Run:
    """One application, one question, and what happens."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.happened: list[Happening] = []
        self.state: dict[str, Any] = {}
        self.hooks: set[asyncio.Task[Any] | None] = set()
        self.kept: list[bool] = []  # at each clean-up: whether it sees the context of the startup

    def note(self, *happening: Any) -> None:
        self.happened.append(list(happening))

    async def resource(self, function: str, name: str) -> str:
        """Stand in for `connect` and `disconnect`."""
        self.note(function, name)
        self.hooks.add(asyncio.current_task())
        if function == "disconnect":
            self.kept.append(OPENED.get())
        place = list(self.question.fault[:2])
        if [function, name] == place and CLOSES not in self.happened:
            if self.question.fault[2] == "raises":
                raise OSError("no cache")
            try:
                await asyncio.sleep(LIMIT)
            finally:
                self.note("stopped waiting")
        OPENED.set(True)
        return name

    async def lifespan(self, app: Application) -> None:
        """Call the application once, and send it the events; each after the answer to the last."""
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        answered = asyncio.Event()
        scope = {"type": self.question.type, **self.about()}

        async def receive() -> dict[str, str]:
            return await events.get()

        async def send(message: dict[str, Any]) -> None:
            text = [clean(message["message"])] if "message" in message else []
            self.note("sent", message.get("type"), *text)
            answered.set()

        async def call() -> None:
            await app(scope, receive, send)

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

    def about(self) -> dict[str, Any]:
        """Return the keys of a lifespan scope, without its type."""
        scope: dict[str, Any] = {"asgi": {"version": "3.0"}} if self.question.asgi else {}
        if self.question.asgi and self.question.spec_version:
            scope["asgi"]["spec_version"] = "2.0"
        return scope | ({"state": self.state} if self.question.state else {})

    @property
    def failed(self) -> bool:
        """Whether the application sent a failure: a server sends it no further event."""
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

    def connection(self, kind: str, path: str) -> dict[str, Any]:
        """Return the scope of a request or a WebSocket, with the state as it is now."""
        state = {"state": dict(self.state)} if self.question.state else {}
        return connection(kind, path) | state

    async def connected(self, app: Application) -> None:
        """Open a WebSocket, which the application closes."""
        events = [{"type": "websocket.connect"}]

        async def receive() -> dict[str, Any]:
            return events.pop() if events else {"type": "websocket.disconnect", "code": 1000}

        async def send(_message: dict[str, Any]) -> None:
            """Drop what it sends."""

        async with asyncio.timeout(5):
            await app(self.connection("websocket", self.question.socket), receive, send)

    async def requested(self, app: Application) -> None:
        """Make a request; note status and body, or what is raised."""
        self.note("state", *sorted(self.state))
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
                await app(self.connection("http", self.question.request), receive, send)
        except Exception as error:
            self.note("request raised", type(error).__name__, clean(str(error)))
        else:
            self.note("request", status, body.decode() if status < 400 else "")

    def on_exception(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note an exception that was never retrieved, which Python logs."""
        if "exception" in context:
            self.note("python logs", type(context["exception"]).__name__)

    async def play(self, app: Application) -> list[Happening]:
        """Play the question; return what happened."""
        asyncio.get_running_loop().set_exception_handler(self.on_exception)
        if not self.question.events and self.question.request:
            await self.requested(app)
        else:
            for _ in range(self.question.times):
                await self.lifespan(app)
                self.state = {}
        gc.collect()  # so that asyncio logs exceptions that were never retrieved
        await asyncio.sleep(0.05)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        self.note("tasks left", len(left))
        if self.kept:
            self.note("tasks of hooks", len(self.hooks))
            self.note("context kept", all(self.kept))
        self.note(*CLOSES)  # which ends the asynchronous generators that are still open
        return self.happened


async def first(task: asyncio.Task[None], answered: asyncio.Event) -> None:
    """Wait until the application has answered or ended, or PATIENCE is over."""
    waiting = asyncio.create_task(answered.wait())
    await asyncio.wait({task, waiting}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    await asyncio.wait({waiting})


def clean(text: str) -> str:
    """Return a text without addresses of objects; of a traceback only the first and last line."""
    lines = [line.strip(" |+-") for line in ADDRESS.sub("0x…", text).splitlines()]
    lines = [line for line in lines if line]
    if lines and TRACEBACK in lines[0]:
        lines = [TRACEBACK, lines[-1]]
    return "\n".join(lines)[:300]


def in_a_process(app: Any, resources: Any, question: Question) -> list[Happening]:
    """Ask a question in a copy of this process, which has a limit; return what happened."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(LIMIT)
        os.close(read)
        run = resources.run = Run(question)
        happened = asyncio.run(run.play(app))
        with os.fdopen(write, "w", encoding="utf-8") as pipe:
            json.dump(happened, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        output = pipe.read()
    os.waitpid(pid, 0)
    if not output:  # on a busy machine: no application has done this on an idle one
        sys.exit(f"it did not end within {LIMIT} s of {question}")
    found: list[Happening] = json.loads(output)
    return found


def observed(program: Path, names: Sequence[str] = ()) -> dict[str, list[Happening]]:
    """Ask the questions, or those that are named; return what happened, by question.

    What the program takes from `resources.py` is passed to the run that is on.
    """
    sys.path.insert(0, str(program.absolute().parent))
    resources: Any = importlib.import_module("resources")
    resources.connect = lambda name: resources.run.resource("connect", name)
    resources.disconnect = lambda name: resources.run.resource("disconnect", name)
    resources.seen = lambda where, value: resources.run.note("sees", where, value)
    app = importlib.import_module(program.stem).app
    return {name: in_a_process(app, resources, QUESTIONS[name]) for name in names or COMMON}


def main(program: str, *names: str) -> None:
    """Print what a program does, as JSON; what it prints itself goes to standard error."""
    warnings.simplefilter("ignore")
    stdout, sys.stdout = sys.stdout, sys.stderr
    json.dump(observed(Path(program), names), stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
