"""The application's half: a context manager that speaks lifespan."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette

from either import both
from lifespec.application import double_to_single_callable, with_lifespan
from lifespec.server import Lifespan, StartupFailed


async def respond(scope: Any, receive: Any, send: Any) -> None:
    """Raise on every scope, as an application does that knows none."""
    raise ValueError(scope["type"])


async def nothing() -> None:
    """Take no time."""


def raises(error: BaseException) -> Any:
    """Make a step that raises."""

    async def step() -> None:
        raise error

    return step


def life(start: Any = nothing, state: Any = None, stop: Any = nothing) -> Any:
    """Make a context of a step before its state, and one after it."""

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Any]:
        await start()
        yield state
        await stop()

    return context


async def by_hand(app: Any, sent: list[Any], *events: str) -> None:
    """Call an application with a receive that gives these events."""
    coming = iter(events)

    async def receive() -> Any:
        return {"type": next(coming)}

    async def send(event: Any) -> None:
        sent.append(event)

    await app({"type": "lifespan"}, receive, send)


@pytest.mark.parametrize("events", [["lifespan.pause"], ["lifespan.startup", "lifespan.pause"]])
async def test_an_event_that_is_not_the_next_one_raises_and_is_not_answered(
    events: list[str],
) -> None:
    sent: list[Any] = []
    with pytest.raises(RuntimeError, match=r"expected the event 'lifespan\.\w+', got .*pause"):
        await by_hand(with_lifespan(respond, life()), sent, *events)
    assert sent == [{"type": "lifespan.startup.complete"}][: len(events) - 1]


async def test_a_server_that_refuses_the_answer_is_told_that_startup_failed() -> None:
    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(event: Any) -> None:
        sent.append(event["type"])
        if event["type"] == "lifespan.startup.complete":
            raise OSError("refused")

    sent: list[str] = []
    with pytest.raises(OSError, match="refused"):
        await with_lifespan(respond, life())({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.startup.failed"]


@pytest.mark.parametrize("state", [None, {}])
async def test_a_context_without_state_needs_no_offer_of_it(state: Any) -> None:
    app = with_lifespan(respond, life(state=state))
    async with Lifespan(app, scope={"type": "lifespan"}) as lifespan:
        assert lifespan.supported


@pytest.mark.parametrize(("state", "outcome"), [("wrong", "failed"), (None, "crashed")])
async def test_a_context_that_swallows_what_was_raised_in_it_has_completed_nothing(
    state: Any, outcome: str
) -> None:
    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[Any]:
        with contextlib.suppress(TypeError, OSError):
            yield state

    async def broken(receive: Any) -> Any:
        event = await receive()
        if event["type"] == "lifespan.shutdown":
            raise OSError("the line is cut")
        return event

    app = with_lifespan(respond, context)
    lifespan = Lifespan(lambda scope, receive, send: app(scope, lambda: broken(receive), send))
    message = ""
    try:
        async with lifespan:
            pass
    except StartupFailed as failure:
        message = failure.message
    assert lifespan.outcome == outcome
    assert message == ("the context ended before shutdown" if outcome == "failed" else "")


@pytest.mark.parametrize("grouped", [False, True])
async def test_the_cancellation_of_the_server_is_never_answered_also_not_in_a_group(
    *, grouped: bool
) -> None:
    begun = asyncio.Event()

    @contextlib.asynccontextmanager
    async def context(_: object) -> AsyncIterator[None]:
        try:
            begun.set()
            await asyncio.sleep(9)
        except asyncio.CancelledError as error:
            if grouped:
                raise BaseExceptionGroup("both", [error]) from None
            raise
        yield

    sent: list[Any] = []
    task = asyncio.ensure_future(by_hand(with_lifespan(respond, context), sent, "lifespan.startup"))
    await begun.wait()
    task.cancel()
    with pytest.raises(BaseExceptionGroup if grouped else asyncio.CancelledError):
        await task
    assert sent == []


def test_both_arguments_are_callable() -> None:
    for wrong in ((None, life()), (respond, None)):
        with pytest.raises(TypeError, match="takes two callables, got None"):
            with_lifespan(*wrong)  # type: ignore[type-var]


async def test_another_lifespan_is_replaced_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The application's own would not run, and nothing else would tell."""

    class Empty(list[Any]):
        def __call__(self, _: object) -> Any: ...

    given = Starlette(lifespan=life())
    lifespans = life(), Empty()
    for app in (Starlette(), respond, given, *(with_lifespan(respond, own) for own in lifespans)):
        async with Lifespan(with_lifespan(app, life())):
            pass
    assert [each.levelname for each in caplog.records] == ["WARNING"] * 3
    sentence = "with_lifespan replaces the lifespan of the application, "
    for record, own in zip(caplog.records, ("<function life", "<function life", "[]"), strict=True):
        assert record.getMessage().startswith(sentence + own)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (None, OSError("no pool"), "no pool"),
        (None, OSError(), "OSError()"),
        (None, Unspeakable(), "Unspeakable object at"),
        (None, asyncio.CancelledError(), r"^CancelledError\(\)$"),  # nobody cancelled its task
        ([], None, r"a lifespan context yields None or a mapping of state, not \[\]"),
        (3, None, "not 3$"),
        ({"pool": 1, "mail": 2}, None, r"yields state \(pool, mail\), and the server offers none"),
    ],
)
@both
async def test_what_fails_is_the_message(on: Any, state: Any, error: Any, message: str) -> None:
    context = life(raises(error) if error else nothing, state)
    scope = {"type": "lifespan"}
    with pytest.raises(StartupFailed) as caught:
        await on.Lifespan(with_lifespan(respond, context), scope=scope).startup()
    assert re.search(message, caught.value.message)


def without_parameter() -> Any:
    """Take no argument, as a beginner writes it."""


@pytest.mark.parametrize(
    ("lifespan", "message"),
    [(without_parameter, "takes 0 positional arguments"), (lambda _: [], "'list' object")],
)
@both
async def test_what_gives_no_context_fails_startup(on: Any, lifespan: Any, message: str) -> None:
    """A server would serve it without lifespan if this were raised without an answer."""
    with pytest.raises(StartupFailed, match=message) as caught:
        await on.Lifespan(with_lifespan(respond, lifespan)).startup()
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("error", [GeneratorExit(), asyncio.CancelledError()])
@pytest.mark.parametrize("in_loop", [False, True])
def test_where_no_task_runs(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, *, in_loop: bool
) -> None:
    """A coroutine that is closed answers nothing; a CancelledError is a failure as any other."""
    monkeypatch.delitem(sys.modules, "trio")  # nor is there another library
    sent: list[Any] = []
    call: Any = by_hand(with_lifespan(respond, life(raises(error))), sent, "lifespan.startup")
    loop = asyncio.new_event_loop() if in_loop else None
    asyncio._set_running_loop(loop)
    try:
        with pytest.raises(type(error)):
            call.send(None)
    finally:
        asyncio._set_running_loop(None)
        if loop:
            loop.close()
    assert bool(sent) is isinstance(error, asyncio.CancelledError)


@both
async def test_state_is_shared_and_a_double_callable_is_adapted(on: Any) -> None:
    def legacy(scope: Any) -> Any:
        async def instance(receive: Any, send: Any) -> None:
            await with_lifespan(respond, life(state={"pool": 1}))(scope, receive, send)

        return instance

    async with on.Lifespan(double_to_single_callable(legacy)) as lifespan:
        assert (lifespan.state, lifespan.supported) == ({"pool": 1}, True)


@both
async def test_a_server_that_cancels_gets_no_answer(on: Any) -> None:
    sent: list[Any] = []
    app = with_lifespan(respond, life(lambda: on.sleep(60)))
    await on.cancelled(lambda: by_hand(app, sent, "lifespan.startup"), 1)
    assert sent == []


async def test_the_context_gets_the_application_and_that_all_requests() -> None:
    calls: list[Any] = []

    async def app(*call: Any) -> None:
        calls.append(call)

    @contextlib.asynccontextmanager
    async def context(of: object) -> AsyncIterator[None]:
        calls.append(of)
        yield

    wrapped = with_lifespan(app, context)
    async with Lifespan(wrapped):
        await wrapped({"type": "http"}, "receive", "send")  # type: ignore[arg-type]
    assert calls == [app, ({"type": "http"}, "receive", "send")]
