"""Where an example runs: in this process, in the place of the main program, or in its own."""

from __future__ import annotations

import asyncio
import functools
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Self

from lifespec import server
from lifespec.testing import clock, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["LOUD", "Namespace", "beside", "patience", "plain"]

Settings = tuple[int, list[logging.Handler], list[Any], bool, bool]
FRESH: Settings = (logging.NOTSET, [], [], True, False)


MOST_PATIENCE = 20.0


class Namespace:
    """What the blocks of a page share: names, standard output, logging, a session's loop."""

    def __init__(self, stdout: io.StringIO | None = None) -> None:
        self.main = ModuleType("__main__")
        self.names: dict[str, Any] = vars(self.main)
        self.stdout = stdout or io.StringIO()
        self.conversations: list[trace.Conversation] = []
        self._loggers = {**_loggers(), logging.root: (logging.WARNING, *FRESH[1:])}
        self._disabled = logging.NOTSET
        self._runner: asyncio.Runner | None = None
        self._unhandled = logging.StreamHandler(self.stdout)  # what a terminal would show, too
        self._unhandled.setLevel(logging.WARNING)

    @contextmanager
    def staged(self) -> Iterator[None]:
        """Put this page in the place of the main program, on a virtual clock, and record it."""
        with ExitStack() as stack:
            enter = stack.enter_context
            enter(_replaced(sys, "displayhook", self._display))
            enter(_replaced(asyncio, "new_event_loop", clock.VirtualLoop))
            enter(_replaced(asyncio.events, "new_event_loop", clock.VirtualLoop))  # asyncio.run's
            enter(_replaced(server.Lifespan, "__init__", _recording(server.Lifespan.__init__)))
            stack.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
            sys.modules["__main__"] = self.main
            enter(_replaced(logging, "lastResort", self._unhandled))
            enter(self._logged())
            enter(redirect_stdout(self.stdout))
            stack.callback(self.conversations.extend, enter(trace.collect()))
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
            print(repr(value))  # noqa: T201  what a session shows

    def session(self) -> asyncio.Runner:
        """Return the runner of the page's session, which knows asyncio as `python -m asyncio`."""
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=clock.VirtualLoop)
            self.names.setdefault("asyncio", asyncio)
        return self._runner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what the session left running."""
        if self._runner is not None:
            with self.staged():
                self._runner.close()


@contextmanager
def _replaced(owner: object, name: str, value: object) -> Iterator[None]:
    own, before = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _recording(construct: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(construct)
    def constructed(self: object, app: object, *args: object, **options: object) -> None:
        if callable(app) and not isinstance(app, trace.Recorder):
            app = trace.record(app)
        construct(self, app, *args, **options)

    return constructed


def _loggers() -> dict[logging.Logger, Settings]:
    """Return how each logger is set."""
    named = logging.root.manager.loggerDict.values()
    loggers = [logging.root, *(each for each in named if isinstance(each, logging.Logger))]
    return {
        each: (each.level, each.handlers[:], each.filters[:], each.propagate, each.disabled)
        for each in loggers
    }


def _set_loggers(settings: Mapping[logging.Logger, Settings]) -> None:
    """Set the loggers so; those that are not named are as if they were new."""
    for logger in _loggers():
        level, handlers, filters, logger.propagate, logger.disabled = settings.get(logger, FRESH)
        if logger.level != level:  # setting it anew costs time for each logger that there is
            logger.setLevel(level)
        logger.handlers[:] = handlers
        logger.filters[:] = filters


def patience() -> float:
    """Return how many times longer than on an idle machine a program may take here and now."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(waiting, 1.0), MOST_PATIENCE)


def beside(
    source: str,
    seconds: float,
    files: Iterable[str | tuple[str, str]] = (),
    *,
    pytest: bool = False,
) -> tuple[int | None, str, str]:
    """Run a program as example.py in a folder of its own; return exit status, output and errors.

    Beside it lie copies of `files`, or files of that name and text, and nothing else. With `pytest`
    it is a file of tests. The status is None where the limit passed,
    which is longer where other programs keep the machine busy.
    Nothing that the program started outlives it.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        for file in files:
            if isinstance(file, str):
                shutil.copy(file, folder)
            else:
                Path(folder, file[0]).write_text(file[1], encoding="utf-8")
        Path(folder, "example.py").write_text(source, encoding="utf-8")
        by = ["-m", "pytest", "-q"] if pytest else []
        process = subprocess.Popen(
            [sys.executable, *by, "example.py"],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        return _status(process, seconds), _text(out), _text(err)


# What makes Python, pytest, rich and others print something else than they do for a reader: more
# warnings, colours, other lines.
LOUD = (
    *("PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONASYNCIODEBUG", "PYTEST_ADDOPTS"),
    *("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS", "PYTHON_COLORS"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES", "CI"),
)
WIDTH = "80"


def plain() -> dict[str, str]:
    """Return our environment without what changes how programs print, so that pages agree."""
    return {key: value for key, value in os.environ.items() if key not in LOUD} | {"COLUMNS": WIDTH}


def _environment() -> dict[str, str]:
    """Return ours, but plain, with asserts, and with this very package."""
    paths = [str(Path(server.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {key: value for key, value in plain().items() if key != "PYTHONOPTIMIZE"}
    set_ = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
    return kept | set_


def _status(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    began = time.monotonic()
    try:
        while (left := began + seconds * patience() - time.monotonic()) > 0:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(left)
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
