"""Wrong servers: the guide's small HTTP server on a `Lifespan` that breaks one rule.

    python tests/mutants/servers.py RULE module:app --port 8000

Each is a subclass of `Lifespan` or of the server's `Connections`, a changed row of TABLE, or a
function that changes the server.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from logging import DEBUG
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "programs"))

import serve

from lifespec import Lifespan, ProtocolError, ShutdownFailed, StartupFailed, server

EVENTS: dict[str, dict[str, str]] = {
    stage: {"type": f"lifespan.{stage}"} for stage in ("startup", "shutdown")
}
original = SimpleNamespace(**vars(serve))
Change = type[Lifespan] | type[serve.Connections] | Callable[[], None]
MUTANTS: dict[str, Change] = {}


def breaks(rule_id: str) -> Callable[[Any], Any]:
    """Register a wrong server by the rule that it breaks."""

    def register(change: Any) -> Any:
        MUTANTS[rule_id] = change
        return change

    return register


def command(name: str) -> tuple[str, ...]:
    """Return the command that starts a wrong server."""
    return (sys.executable, __file__, name, "{app}", "--port", "{port}")


# ---- the scope and the state --------------------------------------------------------------------


def with_scope(**keys: Any) -> type[Lifespan]:
    """Return a `Lifespan` whose scope has other keys."""

    class Changed(Lifespan):
        def __init__(self, app: Any, **options: Any) -> None:
            super().__init__(app, **options)
            self.scope |= keys
            self.state = self.scope["state"]

    return Changed


MUTANTS["scope-type"] = with_scope(type="lifecycle")
MUTANTS["scope-versions"] = with_scope(asgi={"spec_version": "2.0"})
MUTANTS["scope-state"] = with_scope(state=MappingProxyType({}))
MUTANTS["state-starts-empty"] = with_scope(state={"server": "s"})


@breaks("state-shallow-copy")
class StateItself(Lifespan):
    def with_state(self, scope: Any) -> dict[str, Any]:
        return {**scope, "state": self.state}


@breaks("state-untouched")
class StateCleared(Lifespan):
    async def shutdown(self) -> None:
        self.state.clear()
        await super().shutdown()


# ---- calls and event loops ----------------------------------------------------------------------


@breaks("scope-lifetime")
class EndsWithRequest(serve.Connections):  # type: ignore[misc]
    async def answer(self, exchange: Any) -> Any:
        self.lifespan._task.cancel()
        await asyncio.sleep(0)
        return await super().answer(exchange)


@breaks("once-per-loop")
class Twice(Lifespan):
    async def startup(self) -> Any:
        self.other = await Lifespan(self._app).startup()
        return await super().startup()

    async def shutdown(self) -> None:
        await super().shutdown()
        await self.other.shutdown()


@breaks("same-loop")
class OtherLoop(serve.Connections):  # type: ignore[misc]
    def __init__(self, app: Any, lifespan: Any) -> None:
        async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
            here = asyncio.get_running_loop()

            def there(function: Any) -> Any:
                async def call(*arguments: Any) -> Any:
                    future = asyncio.run_coroutine_threadsafe(function(*arguments), here)
                    return await asyncio.wrap_future(future)

                return call

            call = app(scope, there(receive), there(send))
            await asyncio.to_thread(lambda: asyncio.run(call))

        super().__init__(elsewhere, lifespan)


@breaks("return-value-ignored")
class LogsValue(Lifespan):
    def _call_app(self) -> Awaitable[object]:
        call = super()._call_app()

        async def logged() -> None:
            if value := await call:
                server.log.error(value)

        return logged()


# ---- events -------------------------------------------------------------------------------------


def withheld(stage: str) -> type[Lifespan]:
    """Return a `Lifespan` that does not send an event."""

    class Withholds(Lifespan):
        async def _receive(self) -> dict[str, str]:
            event = await super()._receive()
            return await super()._receive() if event == EVENTS[stage] else event

    return Withholds


MUTANTS["startup-sent"] = withheld("startup")
MUTANTS["shutdown-sent"] = withheld("shutdown")


def sent_afterwards(condition: Callable[[Lifespan], object]) -> Any:
    """Return connections that send shutdown to an application that has ended."""

    class Afterwards(serve.Connections):  # type: ignore[misc]
        async def close(self, seconds: float) -> None:
            if condition(self.lifespan):
                self.lifespan.phase = "running"
                self.lifespan._inbox.append({**EVENTS["shutdown"]})
                self.lifespan._enter()
                await asyncio.sleep(0.2)
                self.lifespan.phase = "ended"
            await super().close(seconds)

    return Afterwards


MUTANTS["unsupported-gets-no-events"] = sent_afterwards(
    lambda each: each.outcome == "unsupported" and each.error
)
MUTANTS["returned-gets-no-events"] = sent_afterwards(
    lambda each: each.outcome == "unsupported" and not each.error
)
MUTANTS["crashed-gets-no-events"] = sent_afterwards(
    lambda each: each.outcome in ("crashed", "returned")
)


# ---- waiting, and failures ----------------------------------------------------------------------


@breaks("startup-before-serving")
def serves_early() -> None:
    async def early(app: Any, lifespan: Any, sock: Any, options: Any) -> Any:
        without = SimpleNamespace(with_state=lambda scope: scope)
        connections = serve.Connections(app, without)
        listening = await asyncio.start_server(connections.accept, sock=sock.dup())
        await asyncio.sleep(1)
        listening.close()
        await connections.close(1)
        return await original.serve(app, lifespan, sock, options)

    serve.serve = early


@breaks("wait-for-startup")
class DoesNotWait(Lifespan):
    async def startup(self) -> Any:
        def failed(started: asyncio.Task[Any]) -> None:
            if not started.cancelled() and started.exception():
                os._exit(3)

        self.started = asyncio.create_task(super().startup())
        self.started.add_done_callback(failed)
        await asyncio.sleep(0)
        return self

    async def shutdown(self) -> None:
        if self.started.done():
            await super().shutdown()
        else:
            self.started.cancel()
            await asyncio.wait([self.started])


@breaks("wait-for-shutdown")
class DoesNotWaitForShutdown(Lifespan):
    async def shutdown(self) -> None:
        self.stopping = asyncio.create_task(super().shutdown())
        await asyncio.sleep(0.1)


@breaks("startup-failed-never-serves")
class ServesWhatFailed(Lifespan):
    def _raise_for_outcome(self, stage: str) -> None:
        if stage == "shutdown":
            super()._raise_for_outcome(stage)


def stays_after(failure: type[Exception]) -> Callable[[], None]:
    """Return a server that does not end when the application has failed."""

    def change() -> None:
        async def stays(*arguments: Any) -> Any:
            try:
                return await original.serve(*arguments)
            except failure:
                await asyncio.Event().wait()

        serve.serve = stays

    return change


MUTANTS["startup-failed-exits"] = stays_after(StartupFailed)
MUTANTS["shutdown-failed-ends"] = stays_after(ShutdownFailed)


def fatal(condition: Callable[[Any], object]) -> type[Lifespan]:
    """Return a `Lifespan` that takes missing support for a failure."""

    class Fatal(Lifespan):
        def _raise_for_outcome(self, stage: str) -> None:
            if self.outcome == "unsupported" and condition(self):
                self._errors = server.STRICT
            super()._raise_for_outcome(stage)

    return Fatal


MUTANTS["unsupported-by-raising"] = fatal(lambda each: each._raised and each._inbox)
MUTANTS["unsupported-at-startup"] = fatal(lambda each: each._raised and not each._inbox)


@breaks("shutdown-after-serving")
class StaysOpen(serve.Connections):  # type: ignore[misc]
    async def close(self, seconds: float) -> None:
        """Leave the connections open."""


def with_row(phase: Any, trigger: str, /, **columns: Any) -> Callable[[], None]:
    """Return a change of a row of TABLE."""

    def change() -> None:
        names = ("phase", "outcome", "level", "words")
        row = dict(zip(names, server.TABLE[phase][trigger], strict=True)) | columns
        server.TABLE[phase][trigger] = tuple(row.values())  # type: ignore[assignment]

    return change


MUTANTS["startup-failed-shown"] = with_row("waiting", "lifespan.startup.failed", level=DEBUG)
MUTANTS["shutdown-failed-shown"] = with_row("stopping", "lifespan.shutdown.failed", level=DEBUG)
MUTANTS["unsupported-by-returning"] = with_row("waiting", "returned", phase="waiting")
MUTANTS["unsupported-logged"] = with_row("waiting", "returned", level=0)
MUTANTS["unsupported-never-blocks"] = with_row("stopping", "raised", phase="stopping")
MUTANTS["crash-logged"] = with_row("running", "raised", level=0)


# ---- send ---------------------------------------------------------------------------------------


@breaks("failed-message-default")
class NeedsMessage(Lifespan):
    async def _send(self, message: Any) -> None:
        if isinstance(message, dict) and str(message.get("type")).endswith("failed"):
            message["message"]
        await super()._send(message)


@breaks("extra-keys-ignored")
class RefusesKeys(Lifespan):
    async def _send(self, message: Any) -> None:
        if isinstance(message, dict) and {*message} - {"type", "message"}:
            raise ProtocolError(f"The application sent {message}", "events-known")
        await super()._send(message)


@breaks("send-after-end-does-nothing")
class RefusesLate(Lifespan):
    async def _send(self, message: Any) -> None:
        if self.phase in ("cancelling", "ended"):
            raise RuntimeError("It is over")
        await super()._send(message)


def refusing(rule: str, then: Callable[[ProtocolError], object]) -> type[Lifespan]:
    """Return a `Lifespan` that does something else where `send` names a rule."""

    class Refusing(Lifespan):
        async def _send(self, message: Any) -> None:
            try:
                await super()._send(message)
            except ProtocolError as error:
                if not error.rule.endswith(rule):
                    raise
                then(error)

    return Refusing


def dies_soon(error: ProtocolError) -> None:
    asyncio.get_running_loop().call_soon(os._exit, 1)
    raise error


MUTANTS["only-failed-stops"] = refusing("-answered-once", lambda error: sys.exit(str(error)))
MUTANTS["send-refuses-unknown"] = refusing("events-known", lambda _: None)
MUTANTS["refusal-survived"] = refusing("events-known", dies_soon)


# ---- what harms, though hardly a rule forbids it ------------------------------------------------

VARIANTS: dict[str, Change] = {}


def sends_again(stage: str) -> type[Lifespan]:
    """Return a `Lifespan` that sends an event a second time."""

    class Again(Lifespan):
        again = False

        async def _receive(self) -> dict[str, str]:
            if self.again:
                self.again = False
                return {**EVENTS[stage]}
            event = await super()._receive()
            self.again = event == EVENTS[stage]
            return event

    return Again


@breaks("failure-exit-status")
def ends_with_0() -> None:
    async def until_signal(*arguments: Any) -> int:
        status: int = await original.until_signal(*arguments)
        return 0 if status == 3 else status

    serve.until_signal = until_signal


def dies_with_the_application() -> None:
    async def wait_and_die(lifespan: Lifespan) -> None:
        await lifespan.wait_ended()
        os._exit(0)

    async def dying(app: Any, lifespan: Any, *arguments: Any) -> Any:
        lifespan.dying = asyncio.create_task(wait_and_die(lifespan))
        return await original.serve(app, lifespan, *arguments)

    server.TABLE["running"]["raised"] = (*server.TABLE["running"]["raised"][:2], 0, "")
    serve.serve = dying


class WaitsForNobody(serve.Connections):  # type: ignore[misc]
    async def close(self, seconds: float) -> None:
        """Cancel the requests that are still open, and do not wait for their end."""
        await serve.wait_for(self.tasks, seconds)
        for task in self.tasks:
            task.cancel()


class CutsTheReturn(Lifespan):
    async def shutdown(self) -> None:
        self._timeouts["answered"] = 0.0
        await super().shutdown()


VARIANTS["startup-twice"] = sends_again("startup")
VARIANTS["shutdown-twice"] = sends_again("shutdown")
VARIANTS["dies-silently"] = dies_with_the_application
VARIANTS["waits-for-nobody"] = WaitsForNobody
VARIANTS["cuts-the-return"] = CutsTheReturn


class StateOfTheConnection(serve.Connections):  # type: ignore[misc]
    async def talk(self, reader: Any, writer: Any) -> None:
        """Copy the state once for each connection, and not for each request."""
        [state] = self.lifespan.with_state({}).values()
        without = self.lifespan

        def with_state(scope: Any) -> dict[str, Any]:
            return {**scope, "state": state}

        self.lifespan = SimpleNamespace(with_state=with_state)
        try:
            await super().talk(reader, writer)
        finally:
            self.lifespan = without


ONLY_IN: dict[str, Change] = {  # by the case that alone shows what they do
    "raises-after-shutdown": with_row("answered", "raised", phase="answered"),
    "request-in-flight": StaysOpen,
    "state-on-one-connection": StateOfTheConnection,
}


def main() -> Any:
    """Start the wrong server of the name that comes first."""
    name = sys.argv.pop(1)
    change: Any = (MUTANTS | VARIANTS | ONLY_IN)[name]
    if isinstance(change, type) and issubclass(change, Lifespan):
        serve.Lifespan = change
    elif isinstance(change, type):
        serve.Connections = change
    else:
        change()
    return serve.main()


if __name__ == "__main__":
    sys.exit(main())
