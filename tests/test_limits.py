"""A limit on how long code may run."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lifespec import limits
from lifespec.testing import clock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def spin() -> None:
    """Be busy for ever."""
    while True:
        pass


def elsewhere(target: Callable[[], object]) -> list[BaseException]:
    """Return what `target` raises in a thread that gets no signals."""
    raised: list[BaseException] = []

    def called() -> None:
        try:
            target()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=called)
    thread.start()
    thread.join()
    return raised


def limited(program: Callable[[], object], seconds: float = 0.1) -> None:
    """Run a program so long at most."""
    with limits.limited(seconds):
        program()


@pytest.mark.parametrize("program", [spin, lambda: time.sleep(60)], ids=["busy", "blocks"])
def test_limit(program: Callable[[], object]) -> None:
    """A program that is busy or blocks is ended."""
    with pytest.raises(limits.LimitPassed):
        limited(program)


def test_limit_in_task() -> None:
    """So is a task, though asyncio keeps what a task raises."""

    async def main() -> None:
        async def busy() -> None:
            spin()

        await asyncio.gather(busy(), return_exceptions=True)

    with pytest.raises(limits.LimitPassed):
        limited(lambda: clock.run(main()))


def test_under_pyodide_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has neither an alarm nor threads: no clock is set."""
    monkeypatch.setattr(limits, "sys", SimpleNamespace(platform="emscripten"))
    before = signal.getsignal(signal.SIGALRM)
    with limits.limited(0.0):
        assert signal.getsignal(signal.SIGALRM) == before
        assert "watchdog" not in [thread.name for thread in threading.enumerate()]


def stubborn() -> None:
    """Swallow the first interruption."""
    try:
        spin()
    except KeyboardInterrupt:
        spin()


def test_limit_swallowed() -> None:
    """A program that swallows the interruption is interrupted again."""
    with pytest.raises(limits.LimitPassed):
        limited(stubborn)


def test_limit_of_a_function_that_is_over() -> None:
    """A limit that nobody has taken back strikes nobody else, and stops."""
    before = signal.getsignal(signal.SIGALRM)

    def enter() -> None:
        limits.limited(0.02).__enter__()

    enter()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass
    assert signal.getsignal(signal.SIGALRM) == before


def test_limit_waits_for_coverage() -> None:
    """What coverage does to note a line is not interrupted: its lock would stay taken."""
    names: dict[str, Any] = {"__name__": "coverage.collector", "time": time, "noted": []}
    source = """
        def lock():
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                pass
            noted.append("all")
    """
    exec(dedent(source), names)  # noqa: S102  a module of that name

    def program() -> None:
        names["lock"]()
        spin()

    with pytest.raises(limits.LimitPassed):
        limited(program, 0.02)
    assert names["noted"] == ["all"]


def test_limit_in_thread() -> None:
    """All that holds in a thread, too, where no signal arrives."""
    assert [type(error) for error in elsewhere(lambda: limited(stubborn))] == [limits.LimitPassed]


def test_limit_kept() -> None:
    """A program that ends in time notices nothing, here or in a thread."""
    limited(int, 5)
    assert elsewhere(lambda: limited(int, 5)) == []


@pytest.mark.parametrize("wait", [0.0, 0.05])
def test_alarm_of_others(wait: float) -> None:
    """Who waited for the alarm clock before gets it back, and late is better than never."""
    rung = threading.Event()
    old_handler = signal.signal(signal.SIGALRM, lambda *_: rung.set())
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0.04)
    try:
        with limits.limited(10):
            end = time.monotonic() + wait
            while time.monotonic() < end:
                pass
            assert not rung.is_set()
        assert rung.wait(5)
    finally:
        signal.signal(signal.SIGALRM, old_handler)
        signal.setitimer(signal.ITIMER_REAL, *old_timer)


def test_alarm_of_nobody() -> None:
    """Where nobody waited for the alarm clock, it stands still afterwards."""
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        limited(int, 5)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *old_timer)


def test_alarm_that_rings_before_anything_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the limit can pass in the call that sets it: it does not ring again."""
    old_timer = signal.setitimer(signal.ITIMER_REAL, 0)
    setitimer, handler = signal.setitimer, signal.getsignal(signal.SIGALRM)

    def slow(which: int, seconds: float, interval: float = 0) -> tuple[float, float]:
        left = setitimer(which, seconds, interval)
        time.sleep(0.05 if seconds else 0)
        return left

    monkeypatch.setattr(signal, "setitimer", slow)
    try:
        with pytest.raises(limits.LimitPassed):
            limited(int, 0.01)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        setitimer(signal.ITIMER_REAL, *old_timer)
