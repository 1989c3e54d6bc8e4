"""An application that plays a script and writes down what it sees.  It stands alone.

A copy of this file lies in a folder of its own, where the server on trial imports it.  Beside
it lie `script.json`, a list of steps that its lifespan plays, and `log.jsonl`, to which it adds
a line for each thing that happens.  Steps that wait for a word wait for a file there: `go1`,
`go2`, …, and `release` for the request /hold.

Standard library only, on any Python from 3.8 on, asyncio or trio.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, NoReturn

    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[Any]]

__all__ = ["Failure", "app"]

HERE = Path(__file__).resolve().parent
LOG = HERE / "log.jsonl"
POLL = 0.01  # seconds between two looks at a file: whatever the event loop, this works in it
PLAIN = (str, bool, int, float, type(None))

calls = itertools.count(1)
numbers: dict[int, itertools.count[int]] = {}  # of each process: it may have been forked
namespaces: dict[int, Any] = {}  # the state that a lifespan of this process was offered


class Failure(Exception):  # noqa: N818
    """What a script raises."""


def note(kind: str, call: int, **facts: object) -> None:
    """Add a line to the log, whole or not at all."""
    pid = os.getpid()
    number = next(numbers.setdefault(pid, itertools.count(1)))
    where = {"pid": pid, "thread": threading.get_ident(), "loop": loop()}
    line = {"n": number, "time": time.monotonic(), **where, "call": call, "kind": kind, **facts}
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, json.dumps(line).encode() + b"\n")
    finally:
        os.close(file)


def trio() -> Any:
    """Return trio where its loop runs this, else None."""
    module = sys.modules.get("trio")
    try:
        return module and module.lowlevel.current_trio_token() and module
    except RuntimeError:
        return None


def loop() -> int:
    """Return what identifies the event loop; 0 outside of one."""
    try:
        return id(asyncio.get_running_loop())
    except RuntimeError:
        running = trio()
        return id(running.lowlevel.current_trio_token()) if running else 0


def shape(value: Any, depth: int = 6) -> Any:
    """Return a value as JSON; what JSON does not have is an object with the key "!"."""
    if type(value) in PLAIN:
        return value
    if depth and type(value) is list:
        return [shape(each, depth - 1) for each in value]
    if depth and isinstance(value, Mapping):
        holds = {str(key): shape(value[key], depth - 1) for key in value}
        exact = type(value) is dict and all(type(key) is str for key in value)
        return holds if exact else {"!": type(value).__name__, "holds": holds}
    return {"!": type(value).__name__, "repr": repr(value)[:200]}


def state(scope: Any) -> dict[str, Any]:
    """Return what a scope's state holds, and who it is."""
    if "state" not in scope:
        return {}
    held = scope["state"]
    ids = {str(key): id(held[key]) for key in held} if isinstance(held, Mapping) else {}
    return {"state": shape(held), "state_id": id(held), "ids": ids}


async def sleep(seconds: float) -> None:
    """Sleep in whichever event loop runs this."""
    await (trio() or asyncio).sleep(seconds)


async def word(name: str) -> None:
    """Wait until there is a file of that name."""
    while not (HERE / name).exists():
        await sleep(POLL)


class Lifespan:
    """One call with the scope of a lifespan, and the script as it is played there."""

    def __init__(self, number: int, scope: Any, receive: Receive, send: Send) -> None:
        self.number, self.scope = number, scope
        self._receive, self._send = receive, send
        self.words = itertools.count(1)
        self.children: list[Any] = []

    async def play(self) -> object:
        """Play each step; return what the script returns."""
        namespaces[self.number] = self.scope.get("state")
        for verb, argument in json.loads((HERE / "script.json").read_text("utf-8")):
            if verb == "return":
                return argument
            await getattr(self, verb)(argument)
        return None

    async def receive(self, _: object = None, by: str = "") -> Any:
        """Wait for an event."""
        note("receives", self.number, by=by)
        event = await self._receive()
        kind = event.get("type") if isinstance(event, Mapping) else None
        seen = {"type": kind if isinstance(kind, str) else "", "event": shape(event)}
        note("received", self.number, by=by, **seen, **state(self.scope))
        return event

    async def send(self, event: Any, by: str = "") -> None:
        """Send an event; let the server's refusal through, as applications do."""
        kind = event.get("type", "") if isinstance(event, dict) else ""
        note("sends", self.number, by=by, type=kind, event=event)
        try:
            await self._send(event)
        except Exception as error:
            refusal = {"error": type(error).__name__, "text": str(error)[:500]}
            note("refused", self.number, by=by, type=kind, **refusal)
            raise
        note("sent", self.number, by=by, type=kind)

    async def attempt(self, event: Any) -> None:
        """Send an event, and go on whatever comes of it."""
        try:
            await self.send(event)
        except Exception:  # noqa: BLE001, S110  it stands in the log
            pass

    async def loop(self, _: object) -> None:
        """Answer events as they come, until shutdown is answered."""
        kind = ""
        while kind != "lifespan.shutdown":
            kind = (await self.receive())["type"]
            await self.send({"type": f"{kind}.complete"})

    async def state(self, keys: dict[str, Any]) -> None:
        """Put keys into the state, where there is one."""
        if "state" in self.scope:
            self.scope["state"].update(keys)
        note("keeps", self.number, **state(self.scope))

    async def wait(self, seconds: float) -> None:
        """Be at work for some seconds."""
        note("waits", self.number)
        await sleep(seconds)
        note("waited", self.number, **state(self.scope))

    async def pause(self, _: object) -> None:
        """Be at work until told to go on."""
        note("pauses", self.number)
        await word(f"go{next(self.words)}")
        note("goes on", self.number, **state(self.scope))

    async def hang(self, _: object) -> NoReturn:
        """Be at work for ever."""
        note("hangs", self.number)
        while True:
            await sleep(60)

    async def fail(self, text: str) -> NoReturn:
        """Raise an exception."""
        note("raises", self.number)
        raise Failure(text)

    async def child(self, step: list[Any]) -> None:
        """Let a task of its own play a step, which may outlive the call."""
        verb, argument = step

        async def play() -> None:
            try:
                if verb == "send":
                    await word(f"go{next(self.words)}")
                await getattr(self, verb)(argument, by="child")
            except Exception as error:  # noqa: BLE001
                note("child raised", self.number, error=type(error).__name__)

        running = trio()
        task = running.lowlevel.spawn_system_task if running else asyncio.ensure_future
        self.children.append(task(play if running else play()))
        await sleep(POLL)  # it gets to its first wait


async def answer(number: int, scope: Any, send: Send) -> None:
    """Answer a request with what it sees; its path may ask for more than a look."""
    name, *words = scope["path"].strip("/").split("/")
    before = state(scope)
    held = scope.get("state")
    if name == "set":
        held[words[0]] = words[1]
    elif name == "append":
        held[words[0]].append(words[1])
    elif name == "rebind":
        scope["state"] = {}
    elif name == "hold":
        note("holds", number)
        await word("release")
    here = {"pid": os.getpid(), "thread": threading.get_ident(), "loop": loop()}
    offered = [id(each) for each in namespaces.values() if each is not None]
    body = json.dumps({"probe": HERE.name, **here, **before, "offered": offered}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond(number: int, scope: Any, receive: Receive, send: Send) -> object:
    """Do what a scope of this type asks for."""
    kind = scope["type"]
    if kind == "lifespan":
        return await Lifespan(number, scope, receive, send).play()
    if kind == "http":
        return await answer(number, scope, send)
    raise Failure(f"no {kind!r} here")


async def app(scope: Any, receive: Receive, send: Send) -> object:
    """Take part in whatever the server calls for, and note how the call ended."""
    number = next(calls)
    what = {"type": scope.get("type"), "path": scope.get("path", "")}
    if scope.get("type") != "http":
        what["scope"] = shape(scope)
    note("called", number, **what, **state(scope))
    try:
        result = await respond(number, scope, receive, send)
    except BaseException as error:
        ours = isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError)
        facts = {"type": what["type"], "error": type(error).__name__, "text": str(error)[:500]}
        note("raised" if ours else "cancelled", number, **facts)
        raise
    note("returned", number, type=what["type"])
    return result


note("imported", 0)
