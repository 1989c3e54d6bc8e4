"""The laws of several lifespans as one."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from typing import Any

import anyio
import pytest
import trio
from trio.testing import MockClock

from lifespec import server_trio
from lifespec.application import with_lifespan
from lifespec.composition import PATIENCE, combine_lifespans
from lifespec.server import Lifespan, ShutdownFailed, StartupFailed
from lifespec.testing import clock


def part(log: list[str], name: str, fail: str = "", state: Any = None) -> Any:
    """Make an application that notes its start and stop, and fails where it is told."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Mapping[str, Any] | None]:
        task = asyncio.current_task()
        if fail == "start":
            raise OSError(f"{name} cannot start")
        log.append(f"+{name}")
        yield state
        log.append(f"-{name}")
        assert asyncio.current_task() is task
        if fail == "stop":
            raise OSError(f"{name} cannot stop")

    async def app(scope: Any, receive: Any, send: Any) -> str:
        return name

    return with_lifespan(app, context)


async def declines(scope: Any, receive: Any, send: Any) -> None:
    """Raise on the scope."""
    raise ValueError(scope["type"])


async def test_order() -> None:
    """Parts start in order and stop in reverse, each in one task from start to end."""
    log: list[str] = []
    async with Lifespan(combine_lifespans(*(part(log, name) for name in "abc"))) as lifespan:
        assert log == ["+a", "+b", "+c"]
    assert log == ["+a", "+b", "+c", "-c", "-b", "-a"]
    assert lifespan.outcome == "complete"


async def test_start_fails(caplog: pytest.LogCaptureFixture) -> None:
    """When the third fails to start, the second and first are stopped, and one failure reported."""
    log: list[str] = []
    app = combine_lifespans(part(log, "a"), part(log, "b"), part(log, "c", "start"))
    with caplog.at_level(logging.INFO), pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    assert log == ["+a", "+b", "-b", "-a"]
    assert caught.value.message == "c cannot start"
    records = [record.getMessage() for record in caplog.records]
    assert records == ["The application failed to start: c cannot start"]


async def test_start_and_stop_fail() -> None:
    """A failure in unwinding is a note on the failure to start."""
    app = combine_lifespans(part([], "a", "stop"), part([], "b", "start"))
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    cause = caught.value.__cause__
    assert isinstance(cause, StartupFailed)
    assert cause.__notes__ == ["The application failed to shut down: a cannot stop"]


async def test_stop_fails() -> None:
    """A failure in stopping does not keep the others from stopping; all failures are reported."""
    log: list[str] = []
    lifespan = Lifespan(
        combine_lifespans(part(log, "a", "stop"), part(log, "b"), part(log, "c", "stop"))
    )
    await lifespan.startup()
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert log[3:] == ["-c", "-b", "-a"]
    assert caught.value.message == "c cannot stop; a cannot stop"


async def test_fails_without_text() -> None:
    """A failure without a text is reported by a sentence."""

    async def silent(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed"})

    lifespan = Lifespan(combine_lifespans(part([], "a"), silent))
    await lifespan.startup()
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert caught.value.message == "The application failed to shut down"


async def test_one_declines() -> None:
    """A part that declines does not matter to the rest."""
    log: list[str] = []
    async with Lifespan(combine_lifespans(declines, part(log, "b"), declines)) as lifespan:
        assert lifespan.supported
    assert log == ["+b", "-b"]


async def test_all_decline() -> None:
    """If no part supports lifespan, the whole has nothing to do, and says so by the protocol."""
    async with Lifespan(combine_lifespans(declines, declines), strict=True) as lifespan:
        assert lifespan.supported
    assert lifespan.outcome == "complete"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), OSError("no pool")])
async def test_raises_at_startup(error: BaseException) -> None:
    """A part that raises after it has received startup fails the whole."""
    log: list[str] = []

    async def raises(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise error

    with pytest.raises(StartupFailed) as caught:
        await Lifespan(combine_lifespans(part(log, "a"), raises)).startup()
    assert caught.value.message == (str(error) or "CancelledError()")
    assert log == ["+a", "-a"]


async def test_returns_at_startup() -> None:
    """A part that returns instead of answering startup has no lifespan support."""
    log: list[str] = []

    async def returns(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async with Lifespan(combine_lifespans(part(log, "a"), returns)) as lifespan:
        assert lifespan.supported
    assert log == ["+a", "-a"]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), OSError("no pool")])
async def test_raises_at_shutdown(error: BaseException) -> None:
    """A part that raises instead of answering shutdown is a failure of the whole."""
    log: list[str] = []

    async def raises(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise error

    lifespan = Lifespan(combine_lifespans(part(log, "a"), raises))
    await lifespan.startup()
    with pytest.raises(ShutdownFailed) as caught:
        await lifespan.shutdown()
    assert caught.value.message == f"The application crashed before it answered shutdown: {error!r}"
    assert log == ["+a", "-a"]


async def test_crashes_while_running() -> None:
    """A part that crashed long before shutdown fails nothing: its crash was logged then."""

    async def crashes(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        raise OSError("connection lost")

    async with Lifespan(combine_lifespans(part([], "a"), crashes)) as lifespan:
        pass
    assert lifespan.outcome == "complete"


def on_trio(
    compose_of: Sequence[Any], log: list[str], error: type[BaseException] | None = None
) -> None:
    """Start and stop a combination on trio."""

    async def main() -> None:
        lifespan = server_trio.Lifespan(combine_lifespans(*compose_of))
        async with lifespan:
            log.append(f"state {lifespan.state}")
        log.append(str(lifespan.outcome))

    if error:
        with pytest.raises(error):
            trio.run(main)
    else:
        trio.run(main)


def trio_part(log: list[str], name: str, fail: str = "") -> Any:
    """Make an application whose context waits as only trio can."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Mapping[str, Any]]:
        await trio.lowlevel.checkpoint()
        if fail == "start":
            raise OSError(f"{name} cannot start")
        if fail == "hang":
            await trio.sleep_forever()
        log.append(f"+{name}")
        try:
            yield {name: 1}
        finally:
            log.append(f"-{name}")

    return with_lifespan(declines, context)


def test_on_trio() -> None:
    """The parts run on trio if the whole does."""
    log: list[str] = []
    on_trio([trio_part(log, "a"), declines, trio_part(log, "b")], log)
    assert log == ["+a", "+b", "state {'a': 1, 'b': 1}", "-b", "-a", "complete"]


def test_start_fails_on_trio() -> None:
    """A part that fails to start fails the whole, on trio as on asyncio."""
    log: list[str] = []
    on_trio([trio_part(log, "a"), trio_part(log, "b", "start")], log, StartupFailed)
    assert log == ["+a", "-a"]


def test_cancelled_on_trio(caplog: pytest.LogCaptureFixture) -> None:
    """A server on trio that gives up on a slow part stops those that have started."""
    log: list[str] = []

    async def main() -> None:
        app = combine_lifespans(trio_part(log, "a"), trio_part(log, "b", "hang"))
        await server_trio.Lifespan(app, startup_timeout=0.01).startup()

    with pytest.raises(StartupFailed):
        trio.run(main)
    assert log == ["+a", "-a"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "The application did not answer startup within 0.01 s: it was still running"
    ]


def test_on_no_library() -> None:
    """Without asyncio and trio, startup fails: the application must not be served without it."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(event: Any) -> None:
        sent.append(event)

    call = combine_lifespans(part([], "a"), declines)({"type": "lifespan"}, receive, send)
    assert isinstance(call, Coroutine)
    with pytest.raises(StartupFailed, match="neither runs here"):
        call.send(None)
    assert [event["type"] for event in sent] == ["lifespan.startup.failed"]


@pytest.mark.parametrize("events", [["lifespan.pause"], ["lifespan.startup", "lifespan.pause"]])
async def test_unexpected_event(events: list[str]) -> None:
    """An event that is not the one to come next raises, and is not answered."""
    log: list[str] = []
    coming, sent = iter(events), []

    async def receive() -> Any:
        return {"type": next(coming)}

    async def send(event: Any) -> None:
        sent.append(event["type"])

    app = combine_lifespans(part(log, "a"), part(log, "b"))
    with pytest.raises(RuntimeError, match=r"expected the event 'lifespan\.\w+', got .*pause"):
        await app({"type": "lifespan", "state": {}}, receive, send)
    assert sent == ["lifespan.startup.complete"][: len(events) - 1]
    assert log == ["+a", "+b", "-b", "-a"][: (len(events) - 1) * 4]


async def test_state() -> None:
    """The state is one namespace, in which requests see what each part has set."""
    app = combine_lifespans(part([], "a", state={"a": 1}), part([], "b", state={"b": 2}))
    async with Lifespan(app) as lifespan:
        assert lifespan.with_state({})["state"] == {"a": 1, "b": 2}


async def test_no_state() -> None:
    """Where no state is offered, none is offered to the parts."""
    app = combine_lifespans(part([], "a"), part([], "b", state={"b": 2}))
    with pytest.raises(StartupFailed, match="the server offers none"):
        await Lifespan(app, scope={"type": "lifespan"}).startup()


@pytest.mark.parametrize("by_hand", [True, False])
async def test_key_set_twice(by_hand: bool) -> None:
    """A key that two parts set is an error that names both, whatever the second makes of it."""

    async def careless(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        with contextlib.suppress(ValueError):
            scope["state"]["pool"] = 2
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    second = careless if by_hand else part([], "b", state={"pool": 2})
    log: list[str] = []
    app = combine_lifespans(part(log, "a", state={"pool": 1}), second)
    with pytest.raises(StartupFailed) as caught:
        await Lifespan(app).startup()
    name = "careless" if by_hand else "application"
    expected = f"the state key 'pool' is set by 1 (application) and by 2 ({name})"
    assert caught.value.message == expected
    assert log == ["+a", "-a"]


async def test_every_way_to_set_a_key() -> None:
    """However a part changes its state, at whatever time, requests see it."""
    steps = [
        lambda state: state.update(a=1, b=2),
        lambda state: state.setdefault("c", 3),
        lambda state: state.pop("a"),
        lambda state: state.__ior__({"d": 4}),
        lambda state: state.__delitem__("b"),
        lambda state: state.clear(),
        lambda state: state.update({"e": 5, "f": 6}),
        lambda state: state.popitem(),
    ]
    views = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        state = scope["state"]
        assert isinstance(state, dict)
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await asyncio.sleep(0.5)
        for step in steps:
            step(state)
            views.append((dict(state), lifespan.with_state({})["state"]))
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async with Lifespan(combine_lifespans(app, declines)) as lifespan:
        await asyncio.sleep(1)
    mine = [{"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 3}]
    mine += [{"b": 2, "c": 3, "d": 4}, {"c": 3, "d": 4}, {}, {"e": 5, "f": 6}, {"e": 5}]
    assert views == [(view, view) for view in mine]


async def test_one() -> None:
    """combine_lifespans() of one is that one."""
    app = part([], "a")
    assert combine_lifespans(app) is app


@pytest.mark.parametrize("fail", ["", "start", "stop"])
async def test_associative(fail: str) -> None:
    """It does not matter how the parts are grouped."""
    results = []
    for grouping in range(3):
        log: list[str] = []
        a, b, c = (part(log, name, fail if name != "b" else "") for name in "abc")
        app = [
            combine_lifespans(a, b, c),
            combine_lifespans(combine_lifespans(a, b), c),
            combine_lifespans(a, combine_lifespans(b, c)),
        ][grouping]
        lifespan = Lifespan(app)
        try:
            async with lifespan:
                pass
        except (StartupFailed, ShutdownFailed) as failure:
            log.append(failure.message)
        results.append((log, lifespan.outcome, await app({"type": "http"}, None, None)))  # type: ignore[arg-type]
    assert results[0] == results[1] == results[2]


async def test_other_scopes() -> None:
    """Every other scope goes to the first."""
    app = combine_lifespans(part([], "a"), part([], "b"))
    assert await app({"type": "http"}, None, None) == "a"  # type: ignore[arg-type]


async def test_cancelled() -> None:
    """A server that gives up on a slow part stops those that have started."""
    log: list[str] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await asyncio.sleep(60)

    with pytest.raises(StartupFailed):
        await Lifespan(combine_lifespans(part(log, "a"), slow), startup_timeout=5).startup()
    assert log == ["+a", "-a"]


async def test_the_server_breaks() -> None:
    """What the server raises where it is to say shutdown stops the parts, and goes on to it."""
    log: list[str] = []
    events = iter([{"type": "lifespan.startup"}])

    async def receive() -> Any:
        for event in events:
            return event
        raise ConnectionError

    async def send(message: Any) -> None:
        log.append(message["type"])

    app = combine_lifespans(part(log, "a"), part(log, "b"))
    with pytest.raises(ConnectionError):
        await app({"type": "lifespan"}, receive, send)
    assert log == ["+a", "+b", "lifespan.startup.complete", "-b", "-a"]


async def test_cancelled_and_stop_fails(caplog: pytest.LogCaptureFixture) -> None:
    """A server that is cancelled hears of no failure any more: then the log tells of it."""
    started = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        started.set()
        await asyncio.sleep(60)

    server = asyncio.create_task(Lifespan(combine_lifespans(part([], "a", "stop"), slow)).startup())
    await started.wait()
    server.cancel()
    with caplog.at_level(logging.INFO), pytest.raises(asyncio.CancelledError):
        await server
    records = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert records == [("ERROR", "The application failed to shut down: a cannot stop")]


async def test_limit_while_unwinding(caplog: pytest.LogCaptureFixture) -> None:
    """A failure to start is in the log, too, where the limit passes while others are stopped."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        for name in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{name}.complete"})
            await asyncio.sleep(60)

    app = combine_lifespans(slow, part([], "b", "start"))
    with caplog.at_level(logging.INFO), pytest.raises(StartupFailed):
        await Lifespan(app, startup_timeout=5).startup()
    records = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert records[1:] == ["The application failed to start: b cannot start"]


async def test_stubborn(caplog: pytest.LogCaptureFixture) -> None:
    """A part that ignores its cancellation is given up, which is an error in the log."""

    async def stubborn(scope: Any, receive: Any, send: Any) -> None:
        await part([], "b")(scope, receive, send)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    with caplog.at_level(logging.INFO):
        async with Lifespan(combine_lifespans(part([], "a"), stubborn), grace=60):
            pass
    records = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert records == [("ERROR", "The application was cancelled and did not stop within 5 s")]


@pytest.mark.parametrize("grouped", [False, True])
async def test_the_grace_is_the_servers(caplog: pytest.LogCaptureFixture, *, grouped: bool) -> None:
    """A server that gives up waits for the whole as long as it grants, whatever the parts take."""
    ended: list[str] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(20)
            ended.append("slow")

    app = combine_lifespans(
        part([], "a"), combine_lifespans(part(ended, "b"), slow) if grouped else slow
    )
    with caplog.at_level(logging.INFO), pytest.raises(StartupFailed):
        await Lifespan(app, startup_timeout=5, grace=30).startup()
    assert ended == (["+b", "slow", "-b"] if grouped else ["slow"])
    assert len(caplog.records) == 1
    assert len(asyncio.all_tasks()) == 1


def test_not_callable() -> None:
    """What cannot be called is refused at once."""
    with pytest.raises(TypeError, match="app must be callable, got 'app'"):
        combine_lifespans(declines, "app")  # type: ignore[arg-type]


def hanging(
    name: str, log: list[str], sleep: Any, *, seconds: float = 0, answers: bool = False
) -> Any:
    """Make an application that hangs when it stops, or then; it obeys a cancellation."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if answers:
            await send({"type": "lifespan.shutdown.complete"})
        try:
            await sleep(600)
        finally:
            if seconds:
                with anyio.CancelScope(shield=True):
                    await sleep(seconds)
            log.append(name)

    return app


@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("seconds", [0, 2])
@pytest.mark.parametrize("when", ["startup fails", "startup hangs", "shutdown"])
@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_no_part_outlives_the_grace(
    library: str, when: str, seconds: float, caplog: pytest.LogCaptureFixture, *, answers: bool
) -> None:
    """Once the server has cancelled the whole, a part that hangs at its stop is cancelled, too."""
    log: list[str] = []
    kind = server_trio.Lifespan if library == "trio" else Lifespan
    sleep = trio.sleep if library == "trio" else asyncio.sleep

    async def last(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if when == "startup fails":
            await send({"type": "lifespan.startup.failed"})
            return
        if when == "shutdown":
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await sleep(600)

    first = hanging("first", log, sleep, seconds=seconds, answers=answers)
    app = combine_lifespans(first, hanging("second", log, sleep), last)

    async def main() -> float:
        lifespan = kind(app, startup_timeout=5, shutdown_timeout=5)
        with contextlib.suppress(StartupFailed, ShutdownFailed):
            async with lifespan:
                pass
        assert lifespan.phase == "ended"
        return trio.current_time() if library == "trio" else asyncio.get_running_loop().time()

    if library == "trio":
        took = trio.run(main, clock=MockClock(autojump_threshold=0))
    else:
        took = clock.run(main())
    assert log == ["second", "first"]
    assert took <= 5 + PATIENCE + seconds
    told = [record.getMessage() for record in caplog.records]
    assert not [sentence for sentence in told if "did not stop" in sentence]
