"""An application that plays a script and logs what it sees.  This file is self-contained.

A copy is in a folder of its own, where the server under test imports it, with `script.json`, a list
of steps that its lifespan plays, and `log.jsonl`, to which it adds a line for each thing that
happens.  It continues when a file appears there: `go1`, `go2`, … at each pause, and `release` if it
holds a request.  Inside of middleware a subclass of `Probe` has script and log in memory.

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

__all__ = ["Call", "Failure", "Probe", "app"]

HERE = Path(__file__).resolve().parent
SCRIPT, LOG = HERE / "script.json", HERE / "log.jsonl"
LOOK_AT_FILES_EVERY = 0.01  # seconds between two looks at a file, which works in any event loop
LINGER = 1.0  # seconds that the clean-up of a request takes
REQUESTS = ("http", "websocket")  # as `log` has it: this file is copied to a server alone
PLAIN_TYPES = (str, bool, int, float, type(None))


class Failure(Exception):
    """The exception of a script."""


def location() -> dict[str, int]:
    """Return process, thread and event loop."""
    return {"pid": os.getpid(), "thread": threading.get_ident(), "loop": loop()}


def note(kind: str, call: int, **facts: object) -> None:
    """Add a line to the log, whole or not at all."""
    line = {"time": time.monotonic(), **location(), "call": call, "kind": kind, **facts}
    # workers write into the same file: one write at its end is never mixed with another one
    with LOG.open("ab", buffering=0) as file:
        file.write(json.dumps({"side": "application", **line}).encode() + b"\n")


def trio() -> Any:
    """Return trio if its loop runs this, else None."""
    # without an import: a server on asyncio shall not have trio because of its application
    module: Any = sys.modules.get("trio")
    if module is None:
        return None
    try:
        module.lowlevel.current_trio_token()
    except RuntimeError:  # it is imported, and another loop runs this
        return None
    return module


def loop() -> int:
    """Return what identifies the event loop; 0 outside of one."""
    try:
        return id(asyncio.get_running_loop())
    except RuntimeError:
        running = trio()
        if running:
            return id(running.lowlevel.current_trio_token())
        return 0


def shape(value: Any, depth: int = 6) -> Any:
    """Return a value as JSON; a value of another type is an object with the key "!"."""
    # by the exact type: whether a server passes a dict, or a class of its own, is what rules ask
    if type(value) in PLAIN_TYPES:
        return value
    # a value may hold itself, and JSON has no end for that
    if depth and type(value) is list:
        return [shape(item, depth - 1) for item in value]
    if depth and isinstance(value, Mapping):
        holds = {str(key): shape(value[key], depth - 1) for key in value}
        if type(value) is dict and all(type(key) is str for key in value):
            return holds
        mutable = isinstance(value, MutableMapping)
        return {"!": type(value).__name__, "holds": holds, "mutable": mutable}
    return {"!": type(value).__name__, "repr": repr(value)[:200]}


def state_of(scope: Any, data: Callable[[Any], Any] = shape) -> dict[str, Any]:
    """Return the state of a scope, and the identities of its values and of the state itself."""
    if "state" not in scope:
        return {}
    state = scope["state"]
    ids = {}
    if isinstance(state, Mapping):
        ids = {str(key): id(state[key]) for key in state}
    state_id = 0 if state is None else id(state)
    return {"state": data(state), "state_id": state_id, "ids": ids}


async def sleep(seconds: float) -> None:
    """Sleep in the event loop that runs this."""
    module: Any = trio() or asyncio
    await module.sleep(seconds)


async def wait_for_file(name: str) -> None:
    """Wait until there is a file of that name."""
    while not (HERE / name).exists():
        await sleep(LOOK_AT_FILES_EVERY)


class Call:
    """One call with a lifespan scope, which plays the script."""

    def __init__(self, probe: Probe, number: int, scope: Any, receive: Receive, send: Send) -> None:
        self.probe = probe
        self.number = number
        self.scope = scope
        self._receive = receive
        self._send = send
        self.step = 0
        self.over = False
        self.pauses = itertools.count(1)
        self.children: list[Any] = []  # an event loop keeps no task alive that nobody else holds

    def note(self, kind: str, **facts: Any) -> None:
        """Note what has happened in this step."""
        self.probe.note(kind, self.number, step=self.step, **facts)

    async def play(self) -> Any:
        """Play each step; return the value of the last one."""
        self.probe.states.append(self.scope.get("state"))
        value = None
        try:
            for step, (verb, argument) in enumerate(self.probe.script()):
                self.step = step
                self.note("plays", type=verb)
                passes = (Exception,) if verb in self.probe.tries else ()
                with suppress(*passes):  # it is in the log
                    value = await STEPS[verb](self, argument)
        finally:
            self.over = True
        return value

    async def receive(self, _: object = None, side: str = "application") -> Any:
        """Wait for an event."""
        event = await self._receive()
        kind = event.get("type") if isinstance(event, Mapping) else None
        if not isinstance(kind, str):  # a server can pass anything
            kind = ""
        state = state_of(self.scope, self.probe.data)
        self.note("received", side=side, type=kind, event=self.probe.data(event), **state)
        return event

    async def send(self, event: Any, side: str = "application") -> None:
        """Send an event; let an exception of the server through, as applications do."""
        kind, message = "", ""
        if isinstance(event, dict):  # scripts send other things, too
            kind = event.get("type", "")
            message = str(event.get("message", ""))
        self.note("sends", type=kind, side=side, event=self.probe.data(event))
        try:
            await self._send(event)
        except Exception as error:
            self.note("refused", type=kind, side=side, error=error)
            raise
        self.note("sent", type=kind, side=side, text=message)

    async def converse(self, _: object) -> None:
        """Answer events as they come, until shutdown is answered."""
        kind = ""
        while kind != "lifespan.shutdown":
            kind = (await self.receive())["type"]
            await self.send({"type": f"{kind}.complete"})

    async def keep(self, keys: dict[str, Any]) -> None:
        """Put keys into the state, if there is one."""
        self.note("writes", **state_of({"state": keys}, self.probe.data))
        if "state" in self.scope:
            self.scope["state"].update(keys)
        self.note("kept", **state_of(self.scope, self.probe.data))

    async def fail(self, text: str) -> NoReturn:
        """Raise an exception."""
        raise self.probe.failure(text)

    async def throw(self, name: str) -> NoReturn:
        """Raise an exception of Python's own."""
        if name == "CancelledError":
            raise asyncio.CancelledError
        raise SystemExit

    async def give(self, value: Any) -> Any:
        """Return a value, at the end of the script."""
        return value

    async def listen(self, _: object) -> None:
        """Start a task that waits for an event, and may outlive the call."""
        await self.spawn(lambda: self.receive(side="child"))

    async def later(self, event: Any) -> None:
        """Start a task that sends an event when the call is over."""

        async def child() -> None:
            while not self.over:
                await sleep(LOOK_AT_FILES_EVERY)
            await self.send(event, side="child")

        await self.spawn(child)

    async def spawn(self, child: Callable[[], Awaitable[None]]) -> None:
        """Start a task, and let it run until it waits."""

        async def play() -> None:
            with suppress(Exception):  # `send` has noted it; asyncio would log it as lost
                await child()
            self.probe.note("child ended", self.number)

        running = trio()
        if running:  # a nursery would wait for it before the call can end
            self.children.append(running.lowlevel.spawn_system_task(play))
        else:
            self.children.append(asyncio.create_task(play()))
        await sleep(LOOK_AT_FILES_EVERY)


STEPS: dict[str, Callable[..., Awaitable[Any]]] = {
    "receive": Call.receive,
    "send": Call.send,
    "try": Call.send,
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


class Probe:
    """The application; what it notes is in the file of the log."""

    tries: tuple[str, ...] = ("try",)  # verbs after whose exceptions the script goes on
    data: Callable[[Any], Any] = staticmethod(shape)
    failure: Callable[[str], Exception] = Failure

    def __init__(self) -> None:
        self.calls = itertools.count(1)
        self.states: list[Any] = []  # of each lifespan of this process

    def script(self) -> Any:
        """Return the steps of a lifespan."""
        return json.loads(SCRIPT.read_text("utf-8"))

    def note(self, kind: str, call: int, error: BaseException | None = None, **facts: Any) -> None:
        """Note what has happened in a call, perhaps an exception."""
        if error is not None:
            facts = {**facts, "error": type(error).__name__, "text": str(error)[:500]}
        note(kind, call, **facts)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> Any:
        """Note a call and how it ended."""
        number = next(self.calls)
        kind = scope.get("type")
        if kind in REQUESTS:  # whose scopes hold much, and of which the cases ask the path only
            what = {"path": scope["path"]}
        else:
            what = {"event": self.data(scope)}
        self.note("called", number, type=kind, **what, **state_of(scope, self.data))
        try:
            value = await self.respond(number, scope, receive, send)
        except BaseException as error:
            # asyncio's and trio's cancellations are both derived from BaseException
            how = "raised" if isinstance(error, Exception) else "cancelled"
            self.note(how, number, error, type=kind)
            raise
        self.note("returned", number, type=kind)
        return value

    async def respond(self, number: int, scope: Any, receive: Receive, send: Send) -> Any:
        """Play the script for a lifespan, answer a request, and raise for another scope."""
        if scope["type"] in REQUESTS:
            return await self.answer(number, scope, receive, send)
        if scope["type"] != "lifespan":
            raise Failure(f"no {scope['type']!r} here")
        return await Call(self, number, scope, receive, send).play()

    async def answer(self, number: int, scope: Any, receive: Receive, send: Send) -> Any:
        """Answer a request with what it sees; its path can change the state or hold the request."""
        name, *words = scope["path"].strip("/").split("/")
        # noted first, since what the path asks for changes it
        before, state = state_of(scope), scope.get("state", {})
        if name == "set":
            state[words[0]] = words[1]
        elif name == "append" and words[0] in state:
            state[words[0]].append(words[1])
        elif name == "rebind":
            scope["state"] = {}
        elif name in ("hold", "linger"):
            self.note("holds", number, type=scope["type"])
            try:
                await wait_for_file("release")
            finally:
                if name == "linger":
                    await sleep(LINGER)
        # by these it is seen that a request has the state itself, and no copy
        offered = [id(of_lifespan) for of_lifespan in self.states if of_lifespan is not None]
        body = json.dumps({"probe": HERE.name, **location(), **before, "offered": offered})
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "text": body})
            return await send({"type": "websocket.close"})
        length = b"%d" % len(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        return await send({"type": "http.response.body", "body": body.encode()})


app = Probe()
if SCRIPT.exists():  # a server has imported this
    note("imported", 0)
