"""Applications are checked on the virtual clock, or in real time where they need it."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from applications import ALL, scripted
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.run import cases_for, check, left_out
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.oldreport.model import Course

__all__: list[str] = []

live = scripted("live", *ALL)


@pytest.mark.parametrize("event", ["startup", "shutdown", ""])
def test_a_long_text_is_cut_before_it_is_told(event: str) -> None:
    """It may be megabytes, and each character of a report costs time."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not event:
            raise OSError("x" * 100_000)
        if (await receive())["type"] != "lifespan.startup":
            raise ValueError
        if event == "shutdown":
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": f"lifespan.{event}.failed", "message": "x" * 100_000})

    found = check(app)
    assert found.course
    told = [found.course.detail, found.obstacle, *(each.actual for each in found.findings)]
    assert any("x" * 1000 in each for each in told)
    assert max(map(len, told)) < 3000
    assert all(len(line) < 80 for each in found.findings for line in each.conversation.split("\n"))


def test_real_time_where_it_is_needed() -> None:
    """An application that needs threads is tried in real time, from there on."""
    loops = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        loops.append(type(asyncio.get_running_loop()).__name__)
        await asyncio.to_thread(lambda: None)
        await live(scope, receive, send)

    found = check(app)
    assert found.status(strict=True) == 0
    assert loops[:2] == ["_Clock", "_UnixSelectorEventLoop"]
    assert loops.count("_Clock") == 1


@pytest.mark.parametrize(
    ("usual", "reason"),
    [
        (None, None),
        (Course("complete", "complete"), None),
        (Course("raised"), ("skip", "It does not support lifespan.")),
        (Course("returned"), ("skip", "It does not support lifespan.")),
        (Course("failed"), ("skip", "It does not start: see start-and-stop.")),
        (Course("hung"), ("skip", "It does not start: see start-and-stop.")),
    ],
)
def test_cases_that_are_left_out(usual: Course | None, reason: object) -> None:
    """Nothing is played to who declines or hangs, but the scope that nobody knows."""
    for case in cases_for("asgi 2.0"):
        unknown = case.name == "unknown-scope"
        assert left_out(case, usual) == (None if unknown else reason)


def legacy(scope: Any) -> Callable[[Any, Any], Awaitable[None]]:
    """Be a two-callable application."""
    return functools.partial(live, scope)


@pytest.mark.parametrize("app", [legacy, lambda: live])
def test_what_takes_other_arguments(app: Any) -> None:
    """A factory or a legacy application is no application; the sentence says what to do."""
    with pytest.raises(Unchecked, match="cannot be called with scope, receive and send") as error:
        check(app)
    assert "--factory" in str(error.value)
    assert "double_to_single_callable" in str(error.value)


class Unsigned:
    """An application that does not say what it can be called with."""

    __signature__ = "none"

    async def __call__(self, *call: Any) -> None:
        """Be an application that does all as it should."""
        await live(*call)


def test_what_does_not_say_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called, and seen."""

    def signature(_: object) -> None:
        raise ValueError("no signature found")

    monkeypatch.setattr(app_run.inspect, "signature", signature)
    found = check(Unsigned())
    assert (found.subject, found.status(strict=True)) == ("Unsigned", 0)


def test_what_is_no_application() -> None:
    """What returns no awaitable is refused with a sentence."""
    with pytest.raises(Unchecked, match="this is not an application: a call of it returned 42"):
        check(lambda *_: 42)  # type: ignore[arg-type, return-value]


def test_a_long_traceback_is_cut() -> None:
    """What an exception says may be a whole file."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("x" * 4_000_000)

    course = check(app).course
    assert course is not None
    assert len(course.traceback) < 30_000
    assert course.traceback.startswith("Traceback")
