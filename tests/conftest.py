"""What all tests share: programs that a test needs, and that CI lets no test skip.

`@pytest.mark.needs("chromium")` skips a test, with a sentence, where that program is not found.
A perl without the modules that PAGI's applications need counts as missing.
Where LIFESPEC_ALLOW_NO_SKIP is set, as `.ci/run` sets it, a skipped test has failed.
Variables of the environment that turn on colours or warnings are removed, and what is said is
English unless a test asks for Chinese.
"""

import contextlib
import gc
import logging
import os
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from lifespec.testing.clock import VirtualLoop
from lifespec_pages.sandbox import LOUD, lacking

for name in LOUD:
    os.environ.pop(name, None)
os.environ["LC_ALL"] = "C.UTF-8"
# A shell makes background processes ignore Ctrl-C, and nohup makes them ignore SIGHUP. The programs
# that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

HERE = Path(__file__).parent
if os.environ.pop("COVERAGE_PROCESS_CONFIG", ""):  # what coverage gives the processes of a test
    os.environ["COVERAGE_PROCESS_START"] = str(HERE.parent / ".ci" / "coverage.ini")
SLOW = {"real", "typing"}  # real servers and type checkers
RIGHTS = {"unshare"}  # a machine may refuse its use
SITE = {"address", "browser", "site"}  # fixtures of tests that need the built site


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run more tests at a time than there are processors, as many wait; in CI others run beside."""
    in_ci = 2 if config.option.markexpr == "slow" else 1
    return (os.cpu_count() or 1) + (in_ci if "CI" in os.environ else 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that only `make check` runs, and those that need a browser."""
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if HERE in item.path.parents else "docs"
        fixtures = getattr(item, "fixturenames", ())
        if folder in SLOW or SITE.intersection(fixtures):
            item.add_marker(pytest.mark.slow)
        if "browser" in fixtures:
            item.add_marker(pytest.mark.needs("chromium"))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Remove what processes had not finished to write of their coverage when they were killed."""
    result = yield
    if hasattr(session.config, "workerinput"):  # others still write
        return result
    for file in session.config.rootpath.glob("build/coverage/data.*"):
        with contextlib.closing(sqlite3.connect(file)) as data:
            try:
                complete = data.execute("SELECT version FROM coverage_schema").fetchone()
            except sqlite3.DatabaseError:
                complete = None
        if not complete:
            file.unlink()
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose programs are not all here."""
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            if lacks := lacking(program):
                pytest.skip(f"{lacks} is not installed: not run")


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a skip a failure where nothing may skip; a test that is expected to fail is no skip."""
    forbidden = os.environ.get("LIFESPEC_ALLOW_NO_SKIP")
    if forbidden and report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        where, line, reason = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, "")
        if isinstance(report, pytest.TestReport):  # the test, not the line that skipped it
            where, line = report.location[0], (report.location[1] or 0) + 1
        report.outcome = "failed"
        report.longrepr = f"{where}:{line}: {reason}: LIFESPEC_ALLOW_NO_SKIP is set: this must run"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Check the report of each test, but of those that need what no CI can give itself."""
    report = yield
    if not any(RIGHTS.intersection(mark.args) for mark in item.iter_markers("needs")):
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Check the report of each file: a whole module can skip."""
    report = yield
    refuse_skip(report)
    return report


@pytest.fixture(scope="module")
def nothing_left() -> None:
    """Let what other tests have left be logged now: a task that failed is when it is collected."""
    gc.collect()


@pytest.fixture
def logged(
    nothing_left: None, caplog: pytest.LogCaptureFixture
) -> Iterator[Callable[[], list[tuple[str, str, bool]]]]:
    """Return what the server has logged: level, sentence, whether with a traceback.

    Afterwards asyncio has logged nothing, such as a destroyed task.
    """

    def records(name: str) -> list[tuple[str, str, bool]]:
        found = [each for each in caplog.get_records("call") if each.name == name]
        return [(each.levelname, each.getMessage(), bool(each.exc_info)) for each in found]

    caplog.set_level(logging.DEBUG, "lifespec.server")
    yield lambda: records("lifespec.server")
    assert records("asyncio") == []


def pytest_asyncio_loop_factories() -> dict[str, type[VirtualLoop]]:
    """Run async tests on a virtual clock, where a hang is a Deadlock."""
    return {"virtual": VirtualLoop}
