"""An application in any language: a program that speaks lines of JSON on its pipes.

    {"do": "call", "id": 1, "scope": {…}, "state": "a name"}    call the application
    {"do": "event", "id": 1, "event": {…}}                      what it receives;
    {"do": "event", "id": 1, "error": "a sentence"}             or why it can receive nothing
    {"do": "ack", "id": 1, "seq": 1}                            what it sent was taken;
    {"do": "ack", "id": 1, "seq": 1, "error": "a sentence"}     or was refused
    {"do": "cancel", "id": 1}                                   cancel the call

    {"did": "ready"}                                            it can be called
    {"did": "lacking", "what": "a module"}                      it cannot, for want of that
    {"did": "broken", "error": "a sentence"}                    it cannot, for that reason
    {"did": "receive", "id": 1}                                 the application awaits an event
    {"did": "send", "id": 1, "seq": 1, "event": {…}}            and sends one
    {"did": "returned", "id": 1}
    {"did": "raised", "id": 1, "error": "a sentence"}
    {"did": "cancelled", "id": 1}

References do not travel: where a scope has state, `state` names it, and the other side keeps it;
a request's is that of the last lifespan.  `in_perl` is the command for an application of PAGI.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import queue
import select
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, cast

from lifespec.conformance.texts import said
from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BRIDGE", "Pipe", "PipeError", "in_perl"]

BRIDGE = Path(__file__).with_name("bridge.pl")
GONE = "gone"  # what the end of the output says
GRACE, ENDING = 0.5, 5.0  # seconds until a program ends whose input has; and one that was killed
READING = 5.0  # seconds in which a program reads what it is told
LONGEST, CUT = 8_000_000, 200  # bytes of a line, and how many of them are told
KINDS = {str: "text", int: "number"}
SHAPES: dict[str, dict[str, type]] = {  # by `did`, what else a line has
    "ready": {},
    "lacking": {"what": str},
    "broken": {"error": str},
    "receive": {"id": int},
    "send": {"id": int, "seq": int, "event": object},
    "returned": {"id": int},
    "raised": {"id": int, "error": str},
    "cancelled": {"id": int},
}
BEFORE = ("ready", "lacking", "broken")


class PipeError(Exception):
    """What the application raised, as text."""


def in_perl(file: str | Path) -> tuple[str, ...]:
    """Return the command that runs a file of Perl, whose last value or `main::app` is called."""
    return "perl", str(BRIDGE), str(Path(file).absolute())


class Pipe:
    """The application of a command; raises Unchecked where it is not ready within the limit.

    The command may start the program that speaks, as `sh -c` or `npm start` do: all of them are one
    group of processes, which ends together.  They run in the folder `cwd`, and what they print
    besides goes to `stderr`.  `fault` is a sentence about a line that was none of the protocol, or
    about one that nobody read, "" where all is well.
    """

    fault = ""
    _state = ""  # the name of the last lifespan's
    _ready = _closed = False

    def __init__(
        self,
        command: Sequence[str],
        limit: float = 30.0,
        *,
        cwd: str | Path | None = None,
        stderr: IO[Any] | None = None,
    ) -> None:
        self._name, self._limit = command[0], limit
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=cwd,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise Unchecked(f"{self._name!r} cannot be started: {error.strerror}") from None
        self._input = cast("IO[bytes]", self._process.stdin)
        os.set_blocking(self._input.fileno(), False)  # who reads nothing keeps nobody waiting
        self._writing = threading.RLock()  # the reader's thread writes, too
        self._room = select.poll()
        self._room.register(self._input, select.POLLOUT)
        self._output = io.BufferedReader(cast("io.RawIOBase", self._process.stdout))
        self._calls: dict[int, _Call] = {}
        self._gone: dict[str, Any] = {}
        self._first: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self._await_ready(limit)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the program's input, which ends it; end what goes on, and its children."""
        self._closed = True
        with suppress(OSError):
            self._input.close()
        self._wait(GRACE)
        self._kill()
        self._wait(ENDING)
        self._reader.join(ENDING)
        if not self._reader.is_alive():  # a process that left the group may have the output still
            self._output.close()

    def _wait(self, limit: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Call the application; SystemExit where its program ends."""
        number = len(self._calls) + 1
        call = self._calls[number] = _Call(self, number)
        rest = {key: value for key, value in scope.items() if key != "state"}
        if scope["type"] == "lifespan":
            self._state = f"state {number}"
        call.tell("call", scope=rest, state=self._state if "state" in scope else None)
        if self._gone:  # who reads no more tells nobody
            call.hear(self._gone)
        try:
            await call.live(receive, send)
        except asyncio.CancelledError:
            if not call.over:
                call.tell("cancel")
                await call.end(self._limit)
            raise

    def tell(self, **what: Any) -> None:
        """Write a line to the program, if it still listens; end one that does not read it."""
        line = json.dumps(what, default=_text).encode() + b"\n"
        with self._writing, suppress(OSError, ValueError):
            while line and not self.fault:
                if self._room.poll(READING * 1000):
                    line = line[self._input.write(line) or 0 :]
                else:
                    self.fault = f"{self._name} did not read its input for {READING:g} s"
                    self._kill()

    def _await_ready(self, limit: float) -> None:
        try:
            said = self._first.get(timeout=limit)
        except queue.Empty:
            raise Unchecked(f"{self._name} was not ready within {limit:g} s") from None
        if self.fault:
            raise Unchecked(self.fault)
        told = {"lacking": "it lacks {what}", "broken": "{error}", GONE: "it ended {error}"}
        if said["did"] != "ready":
            why = told.get(said["did"], "it said {did}").format_map(said)
            raise Unchecked(f"{self._name} is not ready: {why}")

    def _read(self) -> None:
        """Read lines, in a thread of their own, until the program ends."""
        while not self.fault and (line := self._output.readline(LONGEST)):
            said, why = _parsed(line)
            if not why and "id" in said and said["id"] not in self._calls:
                why = f"there is no call {said['id']}"
            if not why and self._ready and said["did"] in BEFORE:
                why = "it is said once, before all others"
            if not why:
                self._ready = True
                self._hear(said["did"], said)
            elif not self._closed:
                wrote = line[:CUT].decode(errors="replace").rstrip("\r\n")
                shown = f"{wrote!r}{' ...' * (len(line) > CUT)}"
                self.fault = f"{self._name} wrote {shown}, which is no line of the protocol: {why}"
        self._wait(0 if self.fault else GRACE)  # it may have closed its output, and go on
        self._kill()
        self._wait(ENDING)
        status = self._process.returncode
        self._gone = {"did": GONE, "error": f"with status {status}", "status": status}
        for call in (None, *tuple(self._calls.values())):
            self._hear(GONE, self._gone, call)

    def _hear(self, did: str, said: dict[str, Any], call: _Call | None = None) -> None:
        if call is None and "id" in said:
            call = self._calls[said["id"]]
        if call is None:
            self._first.put(said)
        elif call.over and did == "send":  # after the end it does nothing
            call.tell("ack", seq=said["seq"])
        else:
            call.over |= did not in ("receive", "send")
            call.hear(said)


class _Call:
    """One call of the application, and what was said in it."""

    over = False
    given_up = False  # whether the server cancelled a `receive`, as nothing more will come

    def __init__(self, pipe: Pipe, number: int) -> None:
        self._pipe, self._number = pipe, number
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._refusals: dict[str, Exception] = {}
        self._listening: set[asyncio.Task[None]] = set()

    def tell(self, do: str, **what: Any) -> None:
        """Tell the program something of this call."""
        self._pipe.tell(do=do, id=self._number, **what)

    def hear(self, said: dict[str, Any]) -> None:
        """Take what it said, in the thread that reads."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._said.put_nowait, said)

    async def live(self, receive: Any, send: Any) -> None:
        """Hand over what both sides say, until the application ends."""
        try:
            while await self._next(await self._said.get(), receive, send):
                pass
        finally:
            while self._listening:
                self._listening.pop().cancel()

    async def end(self, limit: float) -> None:
        """Wait for the end, whatever is said until then; after the limit no longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while (await self._said.get())["did"] in ("receive", "send"):
                    pass

    async def _next(self, said: dict[str, Any], receive: Any, send: Any) -> bool:
        """Take one thing that was said; False where it was the end."""
        match said["did"]:
            case "receive":
                self._listening.add(asyncio.ensure_future(self._listen(receive)))
            case "send":
                await self._take(said, send)
            case "returned":
                return False
            case "cancelled" if self.given_up:
                raise asyncio.CancelledError
            case "cancelled":
                raise PipeError("it was cancelled")
            case "raised":
                raise self._refusals.get(said["error"]) or PipeError(said["error"])
            case _:
                raise SystemExit(said["status"])
        return True

    async def _listen(self, receive: Any) -> None:
        told: dict[str, Any] = {}
        try:
            told["event"] = await receive()
        except asyncio.CancelledError:
            if asyncio.current_task() in self._listening:  # it was not the end of the call
                self.given_up = True
                self.tell("cancel")
            raise
        except Exception as error:
            told["error"] = self._refusal(error)
        self.tell("event", **told)

    async def _take(self, said: dict[str, Any], send: Any) -> None:
        told: dict[str, Any] = {"seq": said["seq"]}
        try:
            await send(said["event"])
        except Exception as error:
            told["error"] = self._refusal(error)
        self.tell("ack", **told)

    def _refusal(self, error: Exception) -> str:
        """Return an exception as text, and remember which it was."""
        text = said(error)
        self._refusals[text] = error
        return text


def _parsed(line: bytes) -> tuple[dict[str, Any], str]:
    """Return what a line says, and why it is none of the protocol, or ""."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "it is no JSON" if len(line) < LONGEST else "it is too long"
    if not isinstance(said, dict) or not isinstance(said.get("did"), str):
        return {}, "it is no object with the key 'did'"
    keys = SHAPES.get(said["did"])
    if keys is None:
        return {}, f"there is no {said['did'][:CUT]!r}"
    for key, kind in keys.items():
        if key not in said:
            return {}, f"{said['did']!r} has no {key!r}"
        if kind is not object and type(said[key]) is not kind:  # True is no number here
            return {}, f"its {key!r} is no {KINDS[kind]}"
    return said, ""


def _text(value: object) -> str:
    """Give JSON what it lacks: bytes as characters up to 255."""
    return value.decode("latin-1") if isinstance(value, bytes) else repr(value)
