"""No object of an application makes an observer fail, or is hit by one that looks at it."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apart import one_line
from lifespec import StartupFailed
from lifespec.conformance import Report, check_app
from lifespec.conformance.app import process
from lifespec.conformance.app.observation import Observation, Supervisor
from lifespec.conformance.app.plan import SERVING
from lifespec.conformance.app.target import Job
from lifespec.conformance.cases import Case
from lifespec.diagnosis import guard, leftovers, opened, stacks
from lifespec.diagnosis.author import described, own_failures
from lifespec.diagnosis.logged import logging_errors
from lifespec.testing import LifespanWarning, Running
from lifespec.words import english
from scripted import NOT_STARTED, STARTED, STOPPED, says

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PROGRAM = """
import asyncio, warnings
import hostile
from lifespec.testing import Running

async def main():
    async with Running(hostile.app):
        pass

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    asyncio.run(main())
print(*(each.message for each in caught), sep="\\n")
"""


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program that can import the hostile application."""
    path = os.pathsep.join([str(ROOT / "src"), str(FOLDER)])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path, "TAKES_SIGNALS": "1", "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_check_looks_at_hostile_objects() -> None:
    done = ran("-m", "lifespec", "check", "app", "hostile:app", "--timeout", "20")
    assert "starts yes" in " ".join(done.stdout.split())
    assert "stops yes" in " ".join(done.stdout.split()), done.stdout
    assert "lifespec itself" not in done.stdout
    assert done.returncode == 0, done.stdout


def test_the_fixture_looks_at_hostile_objects() -> None:
    done = ran("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "ERROR hostile: %d items" in done.stdout
    assert "ERROR hostile: circle (ValueError: no orders, in `fails_plainly`" in done.stdout
    assert "lifespec itself" not in done.stdout


# ---- what fails all the same is said as lifespec's ----------------------------------------------


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    yield
    assert guard.take() == []


def fails(*_: object) -> Any:
    raise ValueError("no such\nobject")


def exits(*_: object) -> Any:
    raise SystemExit(0)


def starts_and_stops() -> Report:
    app = says("receive", STARTED, "receive", STOPPED)
    return check_app(app, only=["start-and-stop"], timeout=20)


def test_a_failure_of_an_observer_is_lifespecs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "daemons", fails)
    report = starts_and_stops()
    said = one_line(report)
    assert "lifespec itself failed here, please report it: ValueError: no such object" in said
    assert "lifespec/diagnosis/guard.py" not in said  # but the line that called the observer
    assert "starts yes" in said
    assert report.status == 2


@pytest.mark.parametrize("fails", [fails, exits])
def test_a_failure_while_a_case_is_played_is_no_verdict(
    fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lifespec.conformance.app.process.observe", fails)
    report = starts_and_stops()
    assert one_line(report).startswith("says.<locals>.app could not be checked")
    assert "lifespec itself failed here" in one_line(report)
    assert report.rows == ()
    assert report.status == 2


def test_a_case_that_lifespec_failed_to_play_is_not_played_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play, played = process.observe, tmp_path / "played"

    def plays(job: Job, case: Case, supervisor: Supervisor) -> Observation:
        with played.open("a") as file:
            file.write(f"{case.name}\n")
        return play(job, case, supervisor) if case.name == "start-and-stop" else fails()

    monkeypatch.setattr(process, "observe", plays)
    app = says("receive", STARTED, "receive", STOPPED)
    report = check_app(app, only=[SERVING], timeout=20)
    assert played.read_text().split() == ["start-and-stop", SERVING]
    assert "starts yes" in one_line(report)
    assert "lifespec itself failed here" in one_line(report)
    assert report.status == 2


def test_a_failure_in_the_fixture_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Running(says("receive", STARTED, "receive", STOPPED)):
            pass

    monkeypatch.setattr(leftovers, "threads_left", fails)
    with pytest.warns(LifespanWarning, match="lifespec itself failed here, please report it"):
        asyncio.run(main())


def test_a_failure_in_the_fixture_is_said_with_one_of_the_application(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        async with Running(says("receive", NOT_STARTED)):
            pass

    monkeypatch.setattr("lifespec.testing.running.sequence", fails)
    with pytest.raises(StartupFailed) as caught:
        asyncio.run(main())
    assert "lifespec itself failed here, please report it" in caught.value.__notes__[0]


def test_a_failure_is_kept_once_and_there_are_not_very_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "MOST_KEPT", 2)
    for _ in range(3):
        guard.listed(fails)
    for number in range(100):
        with guard.keeping():
            described(number)  # type: ignore[arg-type]
    guard.listed(leftovers.taken, {})
    failures = guard.take()
    [first, second] = facts = own_failures(failures)
    places = [told.parts["place"].parts["line"] for told in facts]
    assert places == [failure.line for failure in failures]
    assert english(first).startswith("lifespec itself failed here, please report it: ValueError")
    assert "lifespec/diagnosis/" in english(second)


def test_a_failure_may_have_no_text() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise SystemExit

    with guard.keeping():
        raise Mute
    [failure] = guard.take()
    assert (failure.type, failure.text) == ("Mute", "")


class Raises:
    """Raises an exception at whoever looks at it."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def raises(self) -> Any:
        raise self.error

    __repr__ = __str__ = raises
    closed = property(raises)

    def __del__(self) -> None: ...


Raises.__module__ = "pytest"  # of a library, which has to say whether it is open


def logs(value: object) -> None:
    apart = logging.getLogger("lifespec.tests.apart")
    apart.propagate = False  # pytest's own handler would look first
    try:
        with logging_errors():
            apart.error("%s", value)
    finally:
        apart.propagate = True


def takes(value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leftovers, "handlers", lambda: {signal.SIGTERM: value})
        leftovers.taken({signal.SIGTERM: None})


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
@pytest.mark.parametrize(
    "observes",
    [
        lambda value: guard.listed(value.raises),
        takes,
        stacks.text_of,
        lambda _: opened.unclosed(opened.Made()),
        logs,
    ],
)
def test_an_interrupt_is_no_failure(
    observes: Callable[[object], object], error: type[BaseException]
) -> None:
    kept = [Raises(error)]
    try:
        observes(kept[0])
    except KeyboardInterrupt:
        was_interrupted = True
    else:
        was_interrupted = False
    kept.clear()
    guard.take()
    assert was_interrupted is (error is KeyboardInterrupt)
