"""The server is cancelled at every moment there is, and all is as the decision table has it."""

import asyncio
import contextlib
import gc
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from injection import Body, Case, Run

import scripted
from lifespec import Lifespan, ShutdownFailed, ShutdownTimeout, StartupFailed, StartupTimeout
from scripted import STARTED, STOPPED, says

__all__: list[str] = []

NOT_STARTED = scripted.NOT_STARTED | {"message": "no database"}
NOT_STOPPED = scripted.NOT_STOPPED | {"message": "two mails lost"}
GRACE = 5.0  # the default
SERVED = 3.0  # seconds that the body lasts


async def loops(scope: Any, receive: Any, send: Any) -> None:
    """Answer in a loop, as the published sample does."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


async def answers_from_a_child(scope: Any, receive: Any, send: Any) -> None:
    """Let another task answer."""
    async with asyncio.TaskGroup() as group:
        group.create_task(loops(scope, receive, send))


def finally_(app: Any, *steps: Any) -> Any:
    """Make an application that does something more however it ends."""

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        finally:
            await says(*steps)(scope, receive, send)

    return outer


def obstinate(app: Any, *steps: Any) -> Any:
    """Make an application that ignores its first cancellation and does something else."""

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            await says(*steps)(scope, receive, send)

    return outer


RUNS, STOPS = says("receive", STARTED, "receive"), says("receive", STARTED, "receive", 2, STOPPED)
STARTS = says("receive", 2, STARTED, "receive", STOPPED)
LATE = {"startup_timeout": 1.0, "shutdown_timeout": 1.0}
CASES = {
    "loop": Case(loops, "complete"),
    "two receives": Case(says("receive", STARTED, "receive", STOPPED), "complete"),
    "from a child": Case(answers_from_a_child, "complete"),
    "slow start": Case(STARTS, "complete"),
    "slow stop": Case(STOPS, "complete"),
    "slow start, slow clean-up": Case(finally_(STARTS, 1), "complete"),
    "slow stop, slow clean-up": Case(finally_(STOPS, 1), "complete"),
    "slow stop, raises when cancelled": Case(obstinate(STOPS, OSError("stuck")), "complete"),
    "slow start, ignores once": Case(obstinate(STARTS, 60), "complete"),
    "slow stop, ignores once": Case(obstinate(STOPS, 60), "complete"),
    "slow start, answers when cancelled": Case(obstinate(STARTS, STARTED), "complete"),
    "slow stop, answers when cancelled": Case(obstinate(STOPS, STOPPED, 60), "complete"),
    "serves on when cancelled": Case(obstinate(STARTS, STARTED, "receive", STOPPED), "complete"),
    "fails start": Case(says("receive", NOT_STARTED), "failed", StartupFailed),
    "fails start, raises": Case(says(NOT_STARTED, OSError("db")), "failed", StartupFailed),
    "fails start, lingers": Case(says(NOT_STARTED, 60), "failed", StartupFailed),
    "fails start, receives": Case(says(NOT_STARTED, "receive"), "failed", StartupFailed),
    "fails stop": Case(
        says("receive", STARTED, "receive", 1, NOT_STOPPED), "failed", ShutdownFailed
    ),
    "fails stop, lingers": Case(
        finally_(says("receive", STARTED, "receive", NOT_STOPPED, 60), 1), "failed", ShutdownFailed
    ),
    "lingers": Case(finally_(loops, 2), "complete"),
    "lingers too long": Case(finally_(loops, 60), "complete"),
    "lingers and ignores once": Case(obstinate(finally_(loops, 60), 60), "complete"),
    "receives once more": Case(finally_(loops, "receive"), "complete"),
    "declines by raising": Case(says(ValueError("http only")), "unsupported"),
    "declines late": Case(says("receive", 1, KeyError("DSN")), "unsupported"),
    "declines by returning": Case(says("receive", 1), "unsupported"),
    "crashes": Case(says("receive", STARTED, 1, OSError("disk")), "crashed"),
    "crashes at once": Case(says("receive", STARTED, OSError("disk")), "crashed"),
    "crashes in the stop": Case(says("receive", STARTED, "receive", 1, OSError("disk")), "crashed"),
    "fails while served": Case(
        says("receive", STARTED, 1, NOT_STOPPED, OSError("disk")), "crashed"
    ),
    "fails while served, lingers": Case(says("receive", STARTED, NOT_STOPPED, 60), "crashed"),
    "fails while served, receives": Case(
        says("receive", STARTED, 1, NOT_STOPPED, "receive"), "crashed"
    ),
    "leaves": Case(says("receive", STARTED, 1), "returned"),
    "leaves in the stop": Case(says("receive", STARTED, "receive", 1), "returned"),
    "start too late": Case(STARTS, "timed_out", StartupTimeout, LATE),
    "start too late, cleans up": Case(finally_(STARTS, 2), "timed_out", StartupTimeout, LATE),
    "start too late, ignores once": Case(obstinate(STARTS, 60), "timed_out", StartupTimeout, LATE),
    "start at the limit": Case(
        says("receive", 1.0, STARTED, "receive", STOPPED), "timed_out", StartupTimeout, LATE
    ),
    "no answer to startup": Case(says("receive", "receive"), "timed_out", StartupTimeout, LATE),
    "stop too late": Case(STOPS, "timed_out", ShutdownTimeout, LATE),
    "stop too late, cleans up": Case(finally_(STOPS, 2), "timed_out", ShutdownTimeout, LATE),
    "stop too late, ignores once": Case(obstinate(STOPS, 60), "timed_out", ShutdownTimeout, LATE),
    "no answer to shutdown": Case(finally_(RUNS, "receive"), "timed_out", ShutdownTimeout, LATE),
    "lingers beyond a grace of 0": Case(finally_(loops, 1), "complete", limits={"grace": 0.0}),
}

# The decision table once more, from semantics and not from server.py: what each fact leads to.
TABLE = {
    ("waiting", "lifespan.startup.complete"): "running",
    ("waiting", "lifespan.startup.failed"): "failed",
    ("waiting", "raised"): "unsupported",
    ("waiting", "returned"): "unsupported",
    ("waiting", "expired"): "timed_out",
    ("waiting", "thrown"): "cancelled",
    ("running", "lifespan.shutdown.failed"): "crashed",
    ("running", "raised"): "crashed",
    ("running", "returned"): "returned",
    ("running", "over"): "stopping",
    ("running", "thrown"): "stopping",
    ("stopping", "lifespan.shutdown.complete"): "complete",
    ("stopping", "lifespan.shutdown.failed"): "failed",
    ("stopping", "raised"): "crashed",
    ("stopping", "returned"): "returned",
    ("stopping", "expired"): "timed_out",
    ("stopping", "thrown"): "cancelled",
}


async def sleeps(_: Lifespan) -> None:
    """Serve for a while."""
    await asyncio.sleep(SERVED)


async def races(lifespan: Lifespan) -> None:
    """Serve for a while, or until the application is gone."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SERVED):
            await lifespan.wait_ended()


BODIES = [sleeps, races]
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_body = pytest.mark.parametrize("body", BODIES)


@pytest.fixture(autouse=True)
def nothing_swallowed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """No run leaves an exception nobody saw, or a task that was destroyed while it waited."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(logging.getLogger("lifespec.server"), "propagate", False)
    logging.getLogger("lifespec.server").setLevel(logging.DEBUG)
    gc.freeze()  # what is collected below is what the test leaves: all else would take long
    yield
    gc.collect()
    assert [str(what.exc_value) for what in unraisable] == []
    records = [*caplog.get_records("call"), *caplog.records]  # caplog has those of teardown only
    assert [each.getMessage() for each in records if each.name == "asyncio"] == []


def expected(run: Run) -> str | None:
    """Read the outcome off the table: the first fact that decides it latches it."""
    phase = "waiting"
    for fact in run.facts:
        phase = TABLE.get((phase, fact.what), phase)
    return None if phase in ("waiting", "running", "stopping") else phase


def faults(run: Run) -> list[object]:
    """List all that is wrong with a run."""
    told = [
        f"{r.getMessage()} {r.exc_info[1]!r}" if r.exc_info else r.getMessage() for r in run.records
    ]
    swallowed = [
        error
        for error in run.raised
        if not isinstance(error, asyncio.CancelledError)
        and not any(repr(error) in sentence for sentence in told)
    ]
    unsaid = [
        text
        for kind, text in (("startup", "no database"), ("shutdown", "two mails lost"))
        if any(f.what == f"lifespan.{kind}.failed" and f.phase == "answered" for f in run.facts)
        and not any(text in sentence for sentence in told)
    ]
    return [*run.complaints, *run.remaining, *swallowed, *unsaid, *late(run), *misread(run)]


def misread(run: Run) -> Iterator[str]:
    """Compare outcome and exception with what they ought to be."""
    assert run.server
    begun = any(fact.what == "called" for fact in run.facts)
    if begun and run.lifespan.outcome != expected(run):
        yield f"the outcome is {run.lifespan.outcome}, not {expected(run)}: {run.facts}"
    if run.obliged and not run.server.cancelled():
        yield f"the server was cancelled and ended otherwise: {run.server}"
    thrown = [fact.phase for fact in run.facts if fact.what == "thrown"]
    noted = not run.server.cancelled() or hasattr(run.error, "__notes__")
    if thrown == ["running"] and run.lifespan.outcome in ("failed", "timed_out") and not noted:
        yield f"{run.error!r} does not say that shutdown failed, too"


def late(run: Run) -> Iterator[str]:
    """Hold the server to its promise: a grace after the first cancellation, none after another."""
    waits = ("waiting", "stopping", "answered", "cancelling", "ended")
    hits = [fact.time for fact in run.facts if fact.what == "thrown" and fact.phase in waits]
    grace = run.case.limits.get("grace", GRACE)
    if hits and run.ended > hits[0] + grace:
        yield f"cancelled at {hits[0]}, and gone only at {run.ended}"
    if hits[1:] and run.ended > hits[1]:
        yield f"cancelled again at {hits[1]}, and gone only at {run.ended}"
    given_up = any("did not stop" in record.getMessage() for record in run.records)
    if run.left and not hits[1:] and not given_up and not run.everything:
        yield f"left behind: {run.left}"
    if run.abandoned and not hits[1:] and not given_up:
        yield f"left behind, and nobody was told: {run.abandoned}"


def undisturbed(case: Case, body: Body) -> Run:
    """Run a case to its end."""
    return Run(case, body, frozenset())


def once(case: Case, body: Body) -> Iterator[Run]:
    """Run a case with the server cancelled at each moment, one run per moment."""
    for step in range(1, undisturbed(case, body).steps + 1):
        yield Run(case, body, frozenset({step}))


def twice(case: Case, body: Body) -> Iterator[Run]:
    """Run a case with the server cancelled at each moment, and again at each that follows."""
    for first in range(1, undisturbed(case, body).steps + 1):
        steps = Run(case, body, frozenset({first})).steps
        for second in range(first + 1, steps + 1):
            yield Run(case, body, frozenset({first, second}))


def everything(case: Case, body: Body) -> Iterator[Run]:
    """Run a case with all tasks cancelled at each moment, as `asyncio.run` does it at its end."""
    for step in range(1, undisturbed(case, body).steps + 1):
        yield Run(case, body, frozenset({step}), everything=True)


@every_body
@every_case
def test_undisturbed(case: Case, body: Body) -> None:
    """What nobody disturbs ends as the case says, a limit that passes included."""
    run = undisturbed(case, body)
    assert run.server
    assert faults(run) == []
    assert run.lifespan.outcome == case.outcome
    assert type(run.server.exception()) is (case.error or type(None))


@every_body
@every_case
def test_cancelled_once(case: Case, body: Body) -> None:
    """Wherever the server is cancelled, it ends cancelled, and the outcome is the table's."""
    assert [fault for run in once(case, body) for fault in faults(run)] == []


@every_body
@every_case
def test_cancelled_twice(case: Case, body: Body) -> None:
    """Wherever it is cancelled once more, it does not wait any longer."""
    assert [fault for run in twice(case, body) for fault in faults(run)] == []


@every_case
def test_cancelled_again_and_again(case: Case) -> None:
    """A server that is cancelled at every moment from one on is gone, and leaves nothing."""
    steps = undisturbed(case, sleeps).steps
    runs = (Run(case, sleeps, frozenset(range(n, n + 1000))) for n in range(1, steps + 1))
    assert [fault for run in runs for fault in faults(run)] == []


@every_body
@every_case
def test_everything_cancelled(case: Case, body: Body) -> None:
    """Where all tasks are cancelled at once, nothing hangs and nothing is left."""
    assert [fault for run in everything(case, body) for fault in faults(run)] == []
