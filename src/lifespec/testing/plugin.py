"""The pytest plugin: the fixture `lifespan`, which runs applications, and its two timeouts.

pytest loads this module in every run, so it imports nothing that few tests need.
"""

import os
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from lifespec.catalog import _, language, translator

if TYPE_CHECKING:
    from lifespec.testing.running import Running

TIMEOUT = "10"  # seconds: a test has to end
EVENT_OF_TIMEOUT = {"startup_timeout": "lifespan.startup", "shutdown_timeout": "lifespan.shutdown"}
REPORT = ("lifespec.conformance.report", "Report")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, on the command line and in a configuration file."""
    say = translator(language(os.environ))
    group = parser.getgroup("lifespec", say(_("applications with a lifespan (lifespec)")))
    waits = say(
        _("how long the fixture lifespan waits for the answer to {event}: seconds, or none")
    )
    default = say(_("by default {seconds}"))
    for name, event in EVENT_OF_TIMEOUT.items():
        text = waits.format(event=event)
        option = f"--lifespec-{name.replace('_', '-')}"
        group.addoption(option, metavar="SECONDS", help=text)
        says = f"{text}; {default.format(seconds=TIMEOUT)}"
        parser.addini(f"lifespec_{name}", says, default=TIMEOUT)


def pytest_configure(config: pytest.Config) -> None:
    """Raise UsageError for an invalid timeout."""
    for name in EVENT_OF_TIMEOUT:
        _timeout(config, name)


@pytest.fixture(scope="session")
def lifespan(pytestconfig: pytest.Config) -> "Callable[..., Running]":
    """Start and stop an application around the body of `async with`, in a test or a fixture.

        async with lifespan(app) as running:
            transport = httpx.ASGITransport(running.app)

    The arguments are those of `lifespec.Lifespan`.
    """
    from lifespec.testing.running import Running  # noqa: PLC0415

    timeouts = {name: _timeout(pytestconfig, name) for name in EVENT_OF_TIMEOUT}
    return lambda app, **options: Running(app, **(timeouts | options))


def _timeout(config: pytest.Config, name: str) -> float | None:
    """Return the seconds of an option, or else of the configuration file; None for "none"."""
    text: str = config.getoption(f"lifespec_{name}") or config.getini(f"lifespec_{name}")
    if text.strip().lower() == "none":
        return None
    with suppress(ValueError):
        seconds = float(text)
        if seconds >= 0:  # which "nan" is not
            return seconds
    wrong = translator(language(os.environ))(
        _("{option} is {text}, no timeout: give seconds from 0 on, or none to wait without end")
    )
    raise pytest.UsageError(wrong.format(option=f"lifespec_{name}", text=repr(text)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the conformance reports of the failing function: pytest cuts them in its own message."""
    made = yield
    if call.excinfo is None:
        return made
    for value in call.excinfo.traceback[-1].locals.values():
        # by its name: few tests have one, and to import the class costs every run
        if (type(value).__module__, type(value).__name__) == REPORT:
            made.sections.append(("lifespec", str(value)))
    return made
