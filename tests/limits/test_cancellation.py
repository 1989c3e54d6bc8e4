"""The server is cancelled at every moment there is, and all is as the decision table has it.

A step is one callback that the loop runs. Nothing in asyncio happens between two steps, so a run
that is disturbed before each step once has been disturbed at every moment there is.
"""

import asyncio
import contextlib
import gc
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import pytest

import scripted
from actors import watched
from lifespec import Lifespan, ShutdownFailed, ShutdownTimeout, StartupFailed, StartupTimeout
from lifespec.server import TABLE
from lifespec.testing.clock import VirtualLoop
from scripted import STARTED, STOPPED, says

Body = Callable[[Lifespan], Awaitable[object]]
NOT_STARTED = scripted.NOT_STARTED | {"message": "no database"}
NOT_STOPPED = scripted.NOT_STOPPED | {"message": "two mails lost"}
GRACE = 5.0  # the default
SERVED = 3.0  # seconds that the body lasts
AFTER = 1000.0  # seconds that an application which was given up has to end by itself
log = logging.getLogger("lifespec.server")


class Case(NamedTuple):
    """An application, what becomes of it where nothing disturbs, and its timeouts."""

    app: Any
    outcome: str
    error: type[Exception] | None = None
    limits: dict[str, float] = {}  # noqa: RUF012  nobody writes into it


class Fact(NamedTuple):
    """Something that happened, as seen from outside of `Lifespan`."""

    what: str  # a type that was sent; called, returned, raised; expired; thrown, over
    time: float
    phase: str  # of the lifespan, as it happened


class Steps(VirtualLoop):
    """A virtual loop that calls `before` ahead of each step."""

    before: Callable[[], None]

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:
        return super().call_soon(self._step, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return super().call_at(when, self._step, callback, *args, context=context)

    def _step(self, callback: Any, *args: Any) -> None:
        self.before()
        callback(*args)


class Run:
    """Run a case once; `cancels` are the steps before which the server is cancelled.

    With `everything` all tasks are cancelled, as `asyncio.run` does at its end.
    """

    def __init__(self, case: Case, body: Body, *cancels: int, everything: bool = False) -> None:
        self.case, self.body, self.cancels, self.everything = case, body, {*cancels}, everything
        self.steps = 0  # until the server was gone
        self.obliged = False  # cancel() said that the server's task will be cancelled
        self.facts: list[Fact] = []
        self.raised: list[BaseException] = []
        self.records: list[logging.LogRecord] = []
        self.complaints: list[dict[str, Any]] = []
        self.error: BaseException | None = None  # what the server ended with
        self.lifespan = self.timed()
        self.loop = Steps()
        self.loop.before = self.before
        self.loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        handler = logging.Handler()
        handler.emit = self.records.append  # type: ignore[method-assign]
        log.addHandler(handler)
        self.server = self.loop.create_task(self.serve())
        self.home = self.loop.create_task(self.main())
        try:
            self.loop.run_until_complete(self.home)
        finally:
            log.removeHandler(handler)
            self.loop.close()

    def timed(self) -> Lifespan:
        """Make a lifespan that notes when a timeout passed, which nobody outside can see."""
        note = self.note

        class Timed(Lifespan):
            def _on_timeout(self, seconds: float) -> None:
                note("expired")
                super()._on_timeout(seconds)

        return Timed(self.app, **self.case.limits)  # type: ignore[arg-type]

    def note(self, what: str) -> None:
        """Note a fact."""
        self.facts.append(Fact(what, self.loop.time(), self.lifespan.phase))

    def before(self) -> None:
        """Disturb the step that comes, if it is one of those."""
        if self.server.done():
            return
        self.steps += 1
        if self.steps not in self.cancels:
            return
        others = self.others() if self.everything else {self.server}
        for task in sorted(others, key=lambda task: (len(task.get_name()), task.get_name())):
            going = task.cancel()
            self.obliged |= going and task is self.server

    async def main(self) -> None:
        """Run the server; see what is there when it is gone, long after, and at the loop's end."""
        await asyncio.wait([self.server])
        self.ended = self.loop.time()
        timers = (handle for handle in self.loop._scheduled if not handle.cancelled())
        self.left = [each for each in timers if self.lifespan._on_timeout in each._args]
        self.left += self.others()
        await asyncio.sleep(AFTER)
        self.abandoned = self.others()
        for task in self.abandoned:
            task.cancel()  # as asyncio.run does with what is left
        await asyncio.gather(*self.abandoned, return_exceptions=True)
        self.remaining = self.others()

    def others(self) -> set[asyncio.Task[Any]]:
        """Return the tasks beside the one that looks."""
        return asyncio.all_tasks(self.loop) - {self.home}

    async def serve(self) -> None:
        """Be a server, and see each exception that is thrown into it."""
        try:
            await watched(self.conduct(), lambda: self.note("thrown"))
        except BaseException as error:
            self.error = error
            raise

    async def conduct(self) -> None:
        """Start the application, run the body, stop the application."""
        async with self.lifespan:
            try:
                await self.body(self.lifespan)
            finally:
                self.note("over")

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """Be the case's application, and note what it does."""

        async def noting(message: Any) -> None:
            await send(message)
            self.note(message["type"])

        self.note("called")
        try:
            await self.case.app(scope, receive, noting)
        except BaseException as error:
            self.raised.append(error)
            self.note("raised")
            raise
        self.note("returned")


# ---- the cases -----------------------------------------------------------------------------


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


WARM = "receive", STARTED
RUNS, STOPS = says(*WARM, "receive"), says(*WARM, "receive", 2, STOPPED)
STARTS = says("receive", 2, STARTED, "receive", STOPPED)
LATE = {"startup_timeout": 1.0, "shutdown_timeout": 1.0}
CASES = {
    "loop": Case(loops, "complete"),
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
    "fails stop": Case(says(*WARM, "receive", 1, NOT_STOPPED), "failed", ShutdownFailed),
    "fails stop, lingers": Case(
        finally_(says(*WARM, "receive", NOT_STOPPED, 60), 1), "failed", ShutdownFailed
    ),
    "lingers": Case(finally_(loops, 2), "complete"),
    "lingers too long": Case(finally_(loops, 60), "complete"),
    "lingers and ignores once": Case(obstinate(finally_(loops, 60), 60), "complete"),
    "receives once more": Case(finally_(loops, "receive"), "complete"),
    "declines late": Case(says("receive", 1, KeyError("DSN")), "unsupported"),
    "declines by returning": Case(says("receive", 1), "unsupported"),
    "crashes": Case(says("receive", STARTED, 1, OSError("disk")), "crashed"),
    "crashes in the stop": Case(says("receive", STARTED, "receive", 1, OSError("disk")), "crashed"),
    "fails while served": Case(says(*WARM, 1, NOT_STOPPED, OSError("disk")), "crashed"),
    "fails while served, lingers": Case(says("receive", STARTED, NOT_STOPPED, 60), "crashed"),
    "fails while served, receives": Case(says(*WARM, 1, NOT_STOPPED, "receive"), "crashed"),
    "leaves": Case(says("receive", STARTED, 1), "returned"),
    "leaves in the stop": Case(says("receive", STARTED, "receive", 1), "returned"),
    "start too late, cleans up": Case(finally_(STARTS, 2), "timed_out", StartupTimeout, LATE),
    "start too late, ignores once": Case(obstinate(STARTS, 60), "timed_out", StartupTimeout, LATE),
    "start at the limit": Case(
        says("receive", 1.0, STARTED, "receive", STOPPED), "timed_out", StartupTimeout, LATE
    ),
    "no answer to startup": Case(says("receive", "receive"), "timed_out", StartupTimeout, LATE),
    "stop too late, cleans up": Case(finally_(STOPS, 2), "timed_out", ShutdownTimeout, LATE),
    "stop too late, ignores once": Case(obstinate(STOPS, 60), "timed_out", ShutdownTimeout, LATE),
    "no answer to shutdown": Case(finally_(RUNS, "receive"), "timed_out", ShutdownTimeout, LATE),
    "lingers beyond a grace of 0": Case(finally_(loops, 1), "complete", limits={"grace": 0.0}),
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


@pytest.fixture(scope="module", autouse=True)
def little_to_collect() -> Iterator[None]:
    """Leave what there was before these tests to nobody's collection: it would take long."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def nothing_swallowed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """No run leaves an exception nobody saw, or a task that was destroyed while it waited."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(log, "propagate", False)
    log.setLevel(logging.DEBUG)
    yield
    gc.collect()
    assert [str(what.exc_value) for what in unraisable] == []
    records = [*caplog.get_records("call"), *caplog.records]  # caplog has those of teardown only
    assert [each.getMessage() for each in records if each.name == "asyncio"] == []


def expected(run: Run) -> str | None:
    """Read the outcome off the table, which tests/every compares with the specifications."""
    phase, outcome = "waiting", None
    for fact in run.facts:
        stops = "shutdown" if phase == "running" else "cancelled"
        row = TABLE[phase].get({"over": "shutdown", "thrown": stops}.get(fact.what, fact.what))  # type: ignore[index]
        if row:
            phase, outcome = row[0], outcome or row[1]
    return outcome


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


def disturbed(case: Case, body: Body) -> Iterator[Run]:
    """Run a case with the server cancelled at each moment.

    That is once, again at each moment that follows, and at every one from then on.  At last all
    tasks are cancelled, as `asyncio.run` does it at its end.
    """
    for first in range(1, Run(case, body).steps + 1):
        yield (once := Run(case, body, first))
        yield from (Run(case, body, first, second) for second in range(first + 1, once.steps + 1))
        yield Run(case, body, *range(first, first + 1000))
        yield Run(case, body, first, everything=True)


@every_body
@every_case
def test_undisturbed(case: Case, body: Body) -> None:
    """What nobody disturbs ends as the case says, a limit that passes included."""
    run = Run(case, body)
    assert faults(run) == []
    assert run.lifespan.outcome == case.outcome
    assert type(run.server.exception()) is (case.error or type(None))


@every_body
@every_case
def test_cancelled(case: Case, body: Body) -> None:
    """It ends cancelled and waits no longer than it may; the outcome is that of the table."""
    runs = ((run, fault) for run in disturbed(case, body) for fault in faults(run))
    assert [(sorted(run.cancels)[:3], run.everything, fault) for run, fault in runs] == []
