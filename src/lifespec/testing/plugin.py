"""The pytest plugin: the fixture `lifespan`, which runs applications, and its two timeouts.

pytest loads this module in every run, so it imports nothing of ours before that is needed.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from lifespec.testing.running import Starter

__all__ = ["lifespan"]

TIMEOUT = "10"  # seconds: a test has to end
EVENTS = {"startup_timeout": "lifespan.startup", "shutdown_timeout": "lifespan.shutdown"}
MARKER = (
    "lifespan(startup_timeout=10.0, shutdown_timeout=10.0): timeouts, in seconds or None, of the"
    " applications that the test starts with the fixture lifespan."
)
WANTED = "give seconds from 0 on, or none to wait without end"
REPORT = ("lifespec.conformance.report", "Report")

_ITEM = pytest.StashKey[pytest.Item]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and what they are in a configuration file."""
    group = parser.getgroup("lifespec", "applications with a lifespan (lifespec)")
    for name, event in EVENTS.items():
        text = f"how long the fixture lifespan waits for the answer to {event}: seconds, or none"
        option = f"--lifespec-{name.replace('_', '-')}"
        group.addoption(option, type=_option, metavar="SECONDS", help=text)
        parser.addini(f"lifespec_{name}", f"{text} (by default {TIMEOUT})", default=TIMEOUT)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", MARKER)


def _seconds(text: str) -> float | None:
    """Return seconds, or None for "none"; raise ValueError for what is neither."""
    if text.strip().lower() == "none":
        return None
    seconds = float(text)
    if not seconds >= 0:
        raise ValueError(text)
    return seconds


def _option(text: str) -> tuple[float | None]:
    """Return the seconds in a tuple, so that "none" is another thing than no option."""
    try:
        return (_seconds(text),)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no timeout: {WANTED}") from None


@pytest.fixture(scope="session")
def lifespan(request: pytest.FixtureRequest) -> Starter:
    """Start and stop an application around the body of `async with`, in a test or a fixture.

        async with lifespan(app) as running:
            transport = httpx.ASGITransport(running.app)

    The arguments are those of `lifespec.Lifespan`.
    """
    from lifespec.testing.running import Starter  # noqa: PLC0415  its price is the test's

    return Starter(partial(_timeouts, request.config))


def _timeouts(config: pytest.Config) -> dict[str, float | None]:
    """Return the timeouts of the test that runs now: marker, option, configuration file."""
    item = config.stash.get(_ITEM, None)
    return {name: _timeout(config, name) for name in EVENTS} | (_marked(item) if item else {})


def _timeout(config: pytest.Config, name: str) -> float | None:
    given: tuple[float | None] | None = config.getoption(f"lifespec_{name}")
    if given is not None:
        return given[0]
    text = config.getini(f"lifespec_{name}")
    try:
        return _seconds(text)
    except ValueError:
        raise pytest.UsageError(f"lifespec_{name} is {text!r}, no timeout: {WANTED}") from None


def _marked(item: pytest.Item) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in item.iter_markers("lifespan"):  # the closest comes first
        if mark.args or not mark.kwargs.keys() <= EVENTS.keys():
            names = " and ".join(EVENTS)
            pytest.fail(f"the marker lifespan takes {names}, not {mark}", pytrace=False)
        found = {**mark.kwargs, **found}
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the conformance reports of the failing function: pytest cuts them in its own message."""
    found = yield
    for value in call.excinfo.traceback[-1].locals.values() if call.excinfo else ():
        if (type(value).__module__, type(value).__name__) == REPORT:
            found.sections.append(("lifespec", str(value)))
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Know which test runs, for the sake of its markers."""
    item.config.stash[_ITEM] = item
    try:
        return (yield)
    finally:
        del item.config.stash[_ITEM]
