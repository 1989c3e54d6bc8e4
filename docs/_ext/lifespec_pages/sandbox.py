"""Where a block runs: in this process as the main program, or in a process of its own."""

import asyncio
import atexit
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import lru_cache
from pathlib import Path
from select import select
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

from lifespec import server
from lifespec.testing import clock

Settings = tuple[int, list[logging.Handler], list[Any], bool, bool]
FRESH: Settings = (logging.NOTSET, [], [], True, False)
AGAIN = 1.0  # seconds until an exception that was swallowed is raised again
# Variables that make Python, pytest, rich and others print other lines than in a plain shell: more
# warnings, colours.
LOUD = (
    *("PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONASYNCIODEBUG"),
    *("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS", "PYTHON_COLORS"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES", "CI"),
)
NOT_OURS = "PYTEST_", "COVERAGE_", "COV_", "PYTHONOPTIMIZE"  # of the process that runs the pages
# What a process runs before programs are forked from it. pytest has to import its plugins itself.
BEFORE = {
    "/": "",
    "lifespec": "import lifespec.arguments, lifespec.commands, lifespec.conformance.app.check",
    "pytest": """if True:
        import pytest, tempfile
        with tempfile.TemporaryDirectory() as folder:
            pytest.main(["-q", "-W", "ignore", folder])
        import httpx, lifespec.testing, starlette.testclient""",
    "reports.py": """if True:
        import anyio._backends._asyncio, fastapi, lifespec.conformance.app.check, lifespec.cli
        import httpcore, httpx, lifespec.arguments, starlette.applications, starlette.routing
        import unittest.mock
        from lifespec import catalog, words
        from lifespec.conformance import cases, rules
        cases.load(), cases.vocabulary(), rules.rules(), words.sentences()
        catalog.translator("zh")""",
    "": """if True:
        import fastapi, httpx, lifespec.testing, starlette.testclient
        import uvicorn.lifespan.on, uvicorn.loops.auto, uvicorn.main
        import uvicorn.protocols.http.auto, uvicorn.protocols.websockets.auto""",
}
PROBES = {  # what a program is tried with, and what is lacking if that fails
    "perl": (["perl", "-MFuture::AsyncAwait", "-e", "1"], "Future::AsyncAwait of perl"),
    "unshare": (["unshare", "--pid", "--fork", "--mount-proc", "true"], "a right to use unshare"),
}
IGNORED = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


class Timeout(KeyboardInterrupt):
    """A block ran too long: asyncio lets a KeyboardInterrupt through, whatever task runs."""


class Process(NamedTuple):
    """What a process printed; its status is None if it was ended for running too long."""

    status: int | None
    output: str
    errors: str


class Namespace:
    """What the blocks of a page share: names, standard output, logging, a session's event loop."""

    def __init__(self, stdout: io.StringIO | None = None) -> None:
        self.main = ModuleType("__main__")
        self.names: dict[str, Any] = vars(self.main)
        self.stdout = io.StringIO() if stdout is None else stdout
        self._loggers = {**_loggers(), logging.root: (logging.WARNING, *FRESH[1:])}
        self._disabled = logging.NOTSET
        self._runner: asyncio.Runner | None = None
        self._unhandled = logging.StreamHandler(self.stdout)  # as in a terminal
        self._unhandled.setLevel(logging.WARNING)

    @contextmanager
    def staged(self) -> Iterator[None]:
        """Replace the main program by this page, on a virtual clock."""
        with ExitStack() as stack:
            enter = stack.enter_context
            enter(patch.object(sys, "displayhook", self._display))
            enter(patch.object(asyncio, "new_event_loop", clock.VirtualLoop))
            enter(patch.object(asyncio.events, "new_event_loop", clock.VirtualLoop))  # of Runner
            enter(patch.object(logging, "lastResort", self._unhandled))
            enter(patch.dict(os.environ, plain(), clear=True))
            stack.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
            sys.modules["__main__"] = self.main
            enter(self._logged())
            enter(_default_warnings())
            enter(redirect_stdout(self.stdout))
            yield

    @contextmanager
    def _logged(self) -> Iterator[None]:
        outside, disabled = _loggers(), logging.root.manager.disable
        _set_loggers(self._loggers)
        logging.disable(self._disabled)
        try:
            yield
        finally:
            self._loggers, self._disabled = _loggers(), logging.root.manager.disable
            _set_loggers(outside)
            logging.disable(disabled)

    def _display(self, value: object) -> None:
        if value is not None:
            self.names["_"] = value
            print(repr(value))  # noqa: T201  as a session does

    def session(self) -> asyncio.Runner:
        """Return the runner of the page's session, which knows asyncio as `python -m asyncio`."""
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=clock.VirtualLoop)
            self.names.setdefault("asyncio", asyncio)
        return self._runner

    def close(self) -> None:
        """Cancel what the session left running."""
        if self._runner is not None:
            with self.staged():
                self._runner.close()


@contextmanager
def _default_warnings() -> Iterator[None]:
    """Set the filters of a Python that was started without options."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in IGNORED:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
        yield


def _loggers() -> dict[logging.Logger, Settings]:
    """Return the settings of each logger."""
    named = logging.root.manager.loggerDict.values()
    loggers = [logging.root, *(each for each in named if isinstance(each, logging.Logger))]
    return {
        each: (each.level, each.handlers[:], each.filters[:], each.propagate, each.disabled)
        for each in loggers
    }


def _set_loggers(settings: Mapping[logging.Logger, Settings]) -> None:
    """Apply these settings; a logger without any becomes as if it were new."""
    for logger in _loggers():
        level, handlers, filters, logger.propagate, logger.disabled = settings.get(logger, FRESH)
        if logger.level != level:  # to set it clears the cache of every logger
            logger.setLevel(level)
        logger.handlers[:] = handlers
        logger.filters[:] = filters


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Timeout in a block that runs longer, and again each second if it is swallowed.

    A browser has no timer; there the page ends what takes too long.
    """
    if sys.platform == "emscripten":
        yield
        return

    def ring(*_: object) -> None:
        raise Timeout

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # the timer of pytest-timeout, which goes on
            left = max(left - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def plain() -> dict[str, str]:
    """Return our environment without what changes the output of programs.

    Commands are found where this Python is installed before they are looked for elsewhere.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in LOUD and not name.startswith(NOT_OURS)
    }
    path = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return kept | {"COLUMNS": "80", "PATH": os.pathsep.join(path)}


def run_process(
    command: Sequence[str], seconds: float, files: Iterable[tuple[str, str]], **variables: str
) -> Process:
    """Run a command in a folder of its own, beside these files.

    One that is no path is a file or a module of Python, for which no interpreter is started.
    Nothing that a command started outlives it.
    """
    with tempfile.TemporaryDirectory() as place:
        folder, out, err = (Path(place, name) for name in ("folder", "out", "err"))
        folder.mkdir()
        for name, text in ((out, ""), (err, ""), *((folder / name, text) for name, text in files)):
            name.write_text(text, encoding="utf-8")
        server = _forks(BEFORE.get(command[0], BEFORE["/" if "/" in command[0] else ""]))
        given = command, str(folder), _variables() | variables, str(out), str(err)
        server.stdin.write(f"{json.dumps(given)}\n".encode())
        pid = int(server.stdout.readline())
        try:
            ended = select([server.stdout], [], [], seconds)[0]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            status = int(server.stdout.readline())
        printed = (each.read_text("utf-8", "replace") for each in (out, err))
        return Process(status if ended else None, *printed)


def _variables() -> dict[str, str]:
    """Return the environment of a process."""
    paths = [str(Path(server.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ours = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUTF8": "1"}
    return plain() | ours | {"PYTHONUNBUFFERED": "1"}


@lru_cache
def _forks(before: str) -> Any:
    """Start a process from which programs are forked."""
    command = [sys.executable, str(Path(__file__).with_name("forks.py")), before]
    ends: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    server: Any = subprocess.Popen(command, env=_variables(), start_new_session=True, **ends)
    server.stdout.readline()
    atexit.register(server.communicate)  # its time counts as ours
    return server


@lru_cache
def lacking(program: str) -> str:
    """Return the name of a program that is not installed, or "".

    perl needs the module that applications of PAGI use, and unshare the right to use it.
    """
    if not shutil.which(program):
        return program
    probe, lacks = PROBES.get(program, (["true"], ""))
    done = subprocess.run(probe, check=False, capture_output=True, timeout=60)
    return lacks if done.returncode else ""
