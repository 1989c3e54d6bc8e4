"""SystemExit and KeyboardInterrupt of an application reach the server, in whatever phase."""

import asyncio
import contextlib
import gc
import logging
import sys
from collections.abc import Awaitable
from typing import Any

import pytest

from lifespec import Lifespan, ShutdownFailed
from lifespec.testing.clock import VirtualLoop
from scripted import NOT_STARTED, NOT_STOPPED, STARTED, STOPPED, says

__all__: list[str] = []


def after(*script: Any) -> Any:
    """Make an application that exits after messages to send, "receive", seconds to sleep."""

    def exits(error: BaseException) -> Any:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await says(*script)(scope, receive, send)
            raise error

        return app

    return exits


def at_the_door(error: BaseException) -> Any:
    """Make an application whose call exits."""

    def app(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        raise error

    return app


PHASES = {
    "at the door": (at_the_door, "crashed"),
    "at once": (after(), "crashed"),
    "waiting": (after("receive", 0.5), "crashed"),
    "waiting, too late": (after("receive", 60), "timed_out"),
    "failed": (after("receive", NOT_STARTED), "failed"),
    "failed and lingering": (after("receive", NOT_STARTED, 1), "failed"),
    "running": (after("receive", STARTED, 1), "crashed"),
    "running, in the same breath": (after("receive", STARTED), "crashed"),
    "stopping": (after("receive", STARTED, "receive", 0.5), "crashed"),
    "stopping, too late": (after("receive", STARTED, "receive", 60), "timed_out"),
    "stopped": (after("receive", STARTED, "receive", STOPPED), "complete"),
    "stopped and lingering": (after("receive", STARTED, "receive", STOPPED, 1), "complete"),
    "stopped and receiving": (after("receive", STARTED, "receive", STOPPED, "receive"), "complete"),
    "not stopped": (after("receive", STARTED, "receive", NOT_STOPPED), "failed"),
}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("phase", PHASES)
def test_exits(
    phase: str,
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever runs the loop gets it; the outcome stays where it was latched; nothing is left."""
    unraisable: list[Any] = []
    complaints: list[Any] = []
    loops: list[VirtualLoop] = []
    left: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    exits, outcome = PHASES[phase]
    lifespan = Lifespan(exits(error), startup_timeout=1, shutdown_timeout=1, strict=True)

    def loop() -> VirtualLoop:
        loops.append(VirtualLoop())
        loops[0].set_exception_handler(lambda _, context: complaints.append(context))
        return loops[0]

    async def serve() -> None:
        try:
            async with lifespan:
                await asyncio.sleep(3)
        finally:
            left.append("the server is gone")

    with asyncio.Runner(loop_factory=loop) as runner, pytest.raises(type(error)) as caught:
        runner.run(serve())
    assert caught.value is error
    assert (lifespan.outcome, lifespan.phase) == (outcome, "ended")
    assert left == ["the server is gone"]
    assert asyncio.all_tasks(loops[0]) == set()
    gc.collect()
    assert (unraisable, complaints) == ([], [])
    records = [record for record in caplog.records if record.levelno > logging.INFO]
    expected = {"timed_out": 1, "failed": 1}.get(outcome, 0)
    assert len(records) == expected  # the exit itself is not reported: it was not swallowed
    if outcome == "crashed":
        with pytest.raises(ShutdownFailed, match=r"^$"):
            asyncio.run(lifespan.shutdown())
