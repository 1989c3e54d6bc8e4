"""A PAGI application, which is Perl, as an application of Python's: `async with Perl(file) as app`.

A process of perl runs `bridge.pl` and that file; every call goes there, and all of them share the
process.  It ends with the body, by its process id, also where that is cancelled.  References do
not travel: `state` lives in Perl, and the copy that each request gets is made there.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    Said = Mapping[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[object]]

__all__ = ["Perl", "PerlError", "PerlMissing", "lacking"]

BRIDGE = Path(__file__).with_name("bridge.pl")
PACKAGES = {"Future": "libfuture-perl", "Future::AsyncAwait": "libfuture-asyncawait-perl"}
STATE = "lifespec.perl"  # the key under which Python's state names the one in Perl
START, GRACE = 20.0, 2.0  # seconds
TIMERS = "; it runs without IO::Async (on Debian libio-async-perl), and no timer rings there"


class PerlError(Exception):
    """What the application raised, as text; or a sentence where its process failed it."""


class PerlMissing(PerlError):
    """Perl or one of its modules is not installed; the text says what to install."""


@lru_cache
def lacking(*perl: str) -> str:
    """Return what is not installed here: "perl", a module's name, or "" where all is there."""
    command = [*(perl or ("perl",)), str(BRIDGE)]
    options: Any = {"timeout": START, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    try:
        said = subprocess.run(command, check=True, **options).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "perl"
    return str(json.loads(said).get("what", ""))


def missing(what: str) -> PerlMissing:
    """Say what to install."""
    where = f"apt-get install {PACKAGES.get(what, 'perl')}"
    return PerlMissing(f"{what} is not installed; on Debian: {where}")


class Process(asyncio.SubprocessProtocol):
    """What the process says, line by line, to whom it is said."""

    transport: asyncio.SubprocessTransport

    def __init__(self) -> None:
        self.rest = b""
        self.began: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self.exited = asyncio.Event()
        self.calls: dict[int, Call] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, which is one of a subprocess."""
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002  there is one pipe
        """Tell each line to its call; what is meant for none is answered here."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if call := self.calls.get(said.get("id", 0)):
                call.hear(said)
            elif said["did"] == "send":  # after the end it does nothing
                self.tell(do="ack", id=said["id"], seq=said["seq"])
            elif "id" not in said and not self.began.done():
                self.began.set_result(said)

    def process_exited(self) -> None:
        """Let who waits for that go on."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell every call that its application is gone; all that was said has been heard."""
        status = self.transport.get_returncode()
        gone = {"did": "raised", "error": f"the process of perl ended with status {status}"}
        for call in self.calls.values():
            call.hear(gone)
        if not self.began.done():
            self.began.set_result(gone)

    def tell(self, **what: object) -> None:
        """Write one line to the process, if it still listens."""
        line = json.dumps(what, default=_bytes).encode() + b"\n"
        if not self._input.is_closing():
            self._input.write(line)

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))

    async def end(self, grace: float) -> None:
        """Close its input, which ends it; kill it where it goes on."""
        self._input.close()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.exited.wait()
        finally:
            with suppress(ProcessLookupError):
                self.transport.kill()
            await self.exited.wait()
            self.transport.close()


class Call:
    """One call of the application, and what was said in it."""

    def __init__(self, process: Process, number: int) -> None:
        self.process, self.number = process, number
        self.asked: asyncio.Queue[Said] = asyncio.Queue()  # each "receive", and the end
        self.sent: asyncio.Queue[Said] = asyncio.Queue()
        self.refused: dict[str, Exception] = {}
        self.listening: asyncio.Timeout | None = None
        self.heard = 0  # how often Perl or the server said something
        self.taking = self.over = False

    def tell(self, do: str, **what: object) -> None:
        """Tell Perl something of this call."""
        self.process.tell(do=do, id=self.number, **what)

    def hear(self, said: Said) -> None:
        """Take what Perl said; an end also ends the server's `receive`."""
        self.heard += 1
        if said["did"] == "send":
            self.sent.put_nowait(said)
            return
        self.asked.put_nowait(said)
        if said["did"] != "receive":
            self.over = True
            if self.listening and not self.listening.expired():
                self.listening.reschedule(0)

    async def next(self, limit: float | None) -> Said:
        """Return what Perl asks for next, or its end; TimeoutError where it is silent."""
        while True:
            heard = self.heard
            try:
                async with asyncio.timeout(limit):
                    return await self.asked.get()
            except TimeoutError:
                if heard == self.heard and not self.taking:
                    raise

    async def listen(self, receive: Receive) -> None:
        """Tell Perl what the server's `receive` gives, if the application is still there."""
        try:
            async with asyncio.timeout(None) as self.listening:
                if not self.over:
                    self.tell("event", event=await receive())
        except Exception as error:
            if not self.over:
                self.tell("event", error=self.text(error))
        finally:
            self.listening = None
            self.heard += 1

    async def take_all(self, send: Send) -> None:
        """Hand over what Perl sends, one after the other, also while it receives."""
        while True:
            said = await self.sent.get()
            self.taking = True
            told = {"seq": said["seq"]}
            try:
                await send(said["event"])
            except Exception as error:
                told["error"] = self.text(error)
            finally:
                self.taking = False
                self.heard += 1
            self.tell("ack", **told)

    def text(self, error: Exception) -> str:
        """Return an exception as text, and remember which it was."""
        text = " ".join(f"{error}".split()) or repr(error)
        self.refused[text] = error
        return text


class Perl:
    """The application of a file of Perl: its last value, if that is code, else `main::app`.

    `limit` is how many seconds Perl may be silent while everybody waits for it, None for ever;
    `blocking` runs it without IO::Async; `stderr` is where it prints.
    """

    loop = ""  # "IO::Async", or "blocking", where timers do not ring

    def __init__(
        self,
        file: str | Path,
        *,
        perl: Sequence[str] = ("perl",),
        limit: float | None = 30.0,
        blocking: bool = False,
        stderr: Any = None,
    ) -> None:
        path = Path(file).absolute()
        self._command = [*perl, str(BRIDGE), *["--blocking"] * blocking, f"./{path.name}"]
        self._folder, self._limit, self._stderr = path.parent, limit, stderr
        self._process: Process | None = None
        self._number = 0

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        if not self._folder.is_dir():
            raise PerlError(f"there is no folder {self._folder}")
        try:
            _, process = await loop.subprocess_exec(
                Process, *self._command, cwd=self._folder, stderr=self._stderr
            )
        except FileNotFoundError:
            raise missing("perl") from None
        try:
            async with asyncio.timeout(START):
                began = await process.began
            self.loop = _loop(began)
        except BaseException:
            await process.end(0)
            raise
        self._process = process
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end(GRACE if kind is None or issubclass(kind, Exception) else 0)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Call the application; raise PerlError where it raises, or its process is gone."""
        process = self._process
        if process is None or process.exited.is_set():
            raise PerlError("no process of perl runs: calls belong into `async with Perl(…)`")
        self._number += 1
        call = Call(process, self._number)
        rest = {key: value for key, value in scope.items() if key != "state"}
        call.tell("call", scope=rest, state=_name(scope, self._number))
        process.calls[call.number] = call
        taking = asyncio.create_task(call.take_all(send))
        try:
            end = await self._live(call, receive)
        finally:
            call.tell("cancel")  # of no effect where it is over
            del process.calls[call.number]
            taking.cancel()
        if end["did"] != "returned":
            error = end.get("error", "the application's future was cancelled")
            raise PerlError(error) from call.refused.get(error)

    async def _live(self, call: Call, receive: Receive) -> Said:
        """Hand over what the server gives, in its own task, until the application ends."""
        try:
            while (said := await call.next(self._limit))["did"] == "receive":
                await call.listen(receive)
        except TimeoutError:
            hint = TIMERS if self.loop == "blocking" else ""
            raise PerlError(f"perl was silent for {self._limit:g} s{hint}") from None
        return said


def _loop(began: Said) -> str:
    if began["did"] == "lacking":
        raise missing(began["what"])
    if began["did"] != "ready":
        raise PerlError(began["error"])
    return str(began["loop"])


def _name(scope: Mapping[str, Any], number: int) -> str | None:
    """Return the name of the scope's state: None where there is none, "" for a foreign one."""
    state = scope.get("state")
    if state is not None and scope.get("type") == "lifespan":
        state[STATE] = f"state {number}"
    return None if state is None else str(state.get(STATE, ""))


def _bytes(value: object) -> str:
    """Give JSON what it lacks: Perl's octets are characters up to 255."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    raise TypeError(f"{value!r} cannot travel to Perl")
