"""An application that plays a script and logs what it sees.  This file is self-contained.

A copy is in a folder of its own, where the server under test imports it, with `script.json`, a list
of steps that its lifespan plays, and `log.jsonl`, to which it adds a line for each thing that
happens.  It continues when a file appears there: `go1`, `go2`, … at each pause, and `release` if it
holds a request.

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
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, NoReturn

    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[Any]]

__all__ = ["Failure", "app"]

HERE = Path(__file__).resolve().parent
SCRIPT, LOG = HERE / "script.json", HERE / "log.jsonl"
POLL = 0.01  # seconds between two looks at a file, which works in any event loop
REQUESTS = ("http", "websocket")
PLAIN = (str, bool, int, float, type(None))

calls = itertools.count(1)
states: dict[int, Any] = {}  # of each lifespan of this process


class Failure(Exception):
    """The exception of a script."""


def location() -> dict[str, int]:
    """Return process, thread and event loop."""
    return {"pid": os.getpid(), "thread": threading.get_ident(), "loop": loop()}


def note(kind: str, call: int, **facts: object) -> None:
    """Add a line to the log, whole or not at all."""
    line = {"time": time.monotonic(), **location(), "call": call, "kind": kind, **facts}
    with LOG.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")


def trio() -> Any:
    """Return trio if its loop runs this, else None."""
    module: Any = sys.modules.get("trio")
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
    """Return a value as JSON; a value of another type is an object with the key "!"."""
    if type(value) in PLAIN:
        return value
    if depth and type(value) is list:
        return [shape(each, depth - 1) for each in value]
    if depth and isinstance(value, Mapping):
        holds = {str(key): shape(value[key], depth - 1) for key in value}
        if type(value) is dict and all(type(key) is str for key in value):
            return holds
        mutable = isinstance(value, MutableMapping)
        return {"!": type(value).__name__, "holds": holds, "mutable": mutable}
    return {"!": type(value).__name__, "repr": repr(value)[:200]}


def state_of(scope: Any) -> dict[str, Any]:
    """Return the state of a scope, and the identities of its values and of the state itself."""
    if "state" not in scope:
        return {}
    state = scope["state"]
    ids = {str(key): id(state[key]) for key in state} if isinstance(state, Mapping) else {}
    return {"state": shape(state), "state_id": id(state), "ids": ids}


async def sleep(seconds: float) -> None:
    """Sleep in the event loop that runs this."""
    module: Any = trio() or asyncio
    await module.sleep(seconds)


async def wait_for_file(name: str) -> None:
    """Wait until there is a file of that name."""
    while not (HERE / name).exists():
        await sleep(POLL)


class Call:
    """One call with a lifespan scope, which plays the script."""

    def __init__(self, number: int, scope: Any, receive: Receive, send: Send) -> None:
        self.number, self.scope = number, scope
        self._receive, self._send = receive, send
        self.step, self.over = 0, False
        self.pauses = itertools.count(1)
        self.children: list[Any] = []

    def note(self, kind: str, **facts: object) -> None:
        """Note what has happened in this step."""
        note(kind, self.number, step=self.step, **facts)

    async def play(self) -> Any:
        """Play each step; return the value of the last one."""
        states[self.number] = self.scope.get("state")
        value = None
        for self.step, (verb, argument) in enumerate(json.loads(SCRIPT.read_text("utf-8"))):
            self.note("plays", type=verb)
            value = await STEPS[verb](self, argument)
        return value

    async def receive(self, _: object = None, by: str = "") -> Any:
        """Wait for an event."""
        event = await self._receive()
        kind = event.get("type") if isinstance(event, Mapping) else None
        seen = {"type": kind if isinstance(kind, str) else "", "event": shape(event)}
        self.note("received", by=by, **seen, **state_of(self.scope))
        return event

    async def send(self, event: Any, by: str = "") -> None:
        """Send an event; let an exception of the server through, as applications do."""
        kind = event.get("type", "") if isinstance(event, dict) else ""
        self.note("sends", by=by, type=kind, event=event)
        try:
            await self._send(event)
        except Exception as error:
            refusal = {"error": type(error).__name__, "text": str(error)[:500]}
            self.note("refused", by=by, type=kind, event=event, **refusal)
            raise
        self.note("sent", by=by, type=kind, event=event)

    async def attempt(self, event: Any) -> None:
        """Send an event, and continue whether send raises or not."""
        with suppress(Exception):  # it is in the log
            await self.send(event)

    async def converse(self, _: object) -> None:
        """Answer events as they come, until shutdown is answered."""
        kind = ""
        while kind != "lifespan.shutdown":
            kind = (await self.receive())["type"]
            await self.send({"type": f"{kind}.complete"})

    async def keep(self, keys: dict[str, Any]) -> None:
        """Put keys into the state, if there is one."""
        if "state" in self.scope:
            self.scope["state"].update(keys)
        self.note("kept", **state_of(self.scope))

    async def fail(self, text: str) -> NoReturn:
        """Raise an exception."""
        raise Failure(text)

    async def throw(self, name: str) -> NoReturn:
        """Raise an exception of Python's own."""
        raise {"CancelledError": asyncio.CancelledError, "SystemExit": SystemExit}[name]

    async def give(self, value: Any) -> Any:
        """Return a value, at the end of the script."""
        return value

    async def listen(self, _: object) -> None:
        """Start a task that waits for an event, and may outlive the call."""
        await self.spawn(lambda: self.receive(by="child"))

    async def later(self, event: Any) -> None:
        """Start a task that sends an event when the call is over."""

        async def child() -> None:
            while not self.over:
                await sleep(POLL)
            await self.send(event, by="child")

        await self.spawn(child)

    async def spawn(self, child: Callable[[], Awaitable[None]]) -> None:
        """Start a task, and let it run until it waits."""

        async def play() -> None:
            with suppress(Exception):
                await child()
            note("child ended", self.number)

        running = trio()
        task = running.lowlevel.spawn_system_task(play) if running else asyncio.create_task(play())
        self.children.append(task)
        await sleep(POLL)


STEPS: dict[str, Callable[..., Awaitable[Any]]] = {
    "receive": Call.receive,
    "send": Call.send,
    "try": Call.attempt,
    "converse": Call.converse,
    "state": Call.keep,
    "wait": lambda _, seconds: sleep(seconds),
    "pause": lambda call, _: wait_for_file(f"go{next(call.pauses)}"),
    "hang": lambda _, __: wait_for_file("never"),
    "raise": Call.fail,
    "throw": Call.throw,
    "listen": Call.listen,
    "later": Call.later,
    "return": Call.give,
    "give": Call.give,
}


async def answer(number: int, scope: Any, receive: Receive, send: Send) -> Any:
    """Answer a request with what it sees; its path can change the state or hold the request."""
    name, *words = scope["path"].strip("/").split("/")
    before, state = state_of(scope), scope.get("state", {})
    if name == "set":
        state[words[0]] = words[1]
    elif name == "append" and words[0] in state:
        state[words[0]].append(words[1])
    elif name == "rebind":
        scope["state"] = {}
    elif name == "hold":
        note("holds", number, type=scope["type"])
        await wait_for_file("release")
    offered = [id(each) for each in states.values() if each is not None]
    seen = {"probe": HERE.name, **location(), **before, "offered": offered}
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": json.dumps(seen)})
        return await send({"type": "websocket.close"})
    body = json.dumps(seen).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    return await send({"type": "http.response.body", "body": body})


async def respond(number: int, scope: Any, receive: Receive, send: Send) -> Any:
    """Play the script for a lifespan scope, answer a request, and raise for another scope."""
    kind = scope["type"]
    if kind in REQUESTS:
        return await answer(number, scope, receive, send)
    if kind != "lifespan":
        raise Failure(f"no {kind!r} here")
    call = Call(number, scope, receive, send)
    try:
        return await call.play()
    finally:
        call.over = True


async def app(scope: Any, receive: Receive, send: Send) -> Any:
    """Note each call and how it ended."""
    number = next(calls)
    kind = scope.get("type")
    what = {"path": scope["path"]} if kind in REQUESTS else {"scope": shape(scope)}
    note("called", number, type=kind, **what, **state_of(scope))
    try:
        value = await respond(number, scope, receive, send)
    except BaseException as error:
        facts = {"type": kind, "error": type(error).__name__, "text": str(error)[:500]}
        note("raised" if isinstance(error, Exception) else "cancelled", number, **facts)
        raise
    note("returned", number, type=kind)
    return value


if SCRIPT.exists():  # a server has imported this
    note("imported", 0)
