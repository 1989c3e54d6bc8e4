"""Runs an application of PAGI, written in Perl, under our server, for a page that shows it.

It is started, is given so many requests, one after the other, and is stopped. What it prints and
what the server logs are one text, in order. Time is real, and so nothing is said of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lifespec import server, validate
from lifespec.conformance.app.pipe import BRIDGE, Pipe, PipeError
from lifespec.limits import limited
from lifespec.testing import trace

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lacking", "served"]

COMMAND = ["perl", str(BRIDGE)]  # and the file
OPTIONS: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "timeout": 20.0}
LOOP = asyncio.SelectorEventLoop  # of real time, whatever a page's examples run on
log = logging.getLogger(server.__name__)


def lacking(program: str) -> str:
    """Return what of a program is not installed here, by name: "" where all is there.

    Of perl it can be a module that applications of PAGI need.
    """
    if not shutil.which(program):
        return program
    return _lacking_of_perl() if program == "perl" else ""


@lru_cache
def _lacking_of_perl() -> str:
    done = subprocess.run(COMMAND, check=False, **OPTIONS)
    return "perl" if done.returncode else str(json.loads(done.stdout).get("what", ""))


def served(source: str, requests: int, seconds: float) -> tuple[str, list[list[trace.Entry]]]:
    """Return what was printed and logged, and what was said.

    It may take so many seconds to be ready, and so many from then on: raise Unchecked, LimitPassed.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile(buffering=0) as printed,
        trace.collect() as spoken,
    ):
        file = Path(folder, "app.pl")
        file.write_text(source, encoding="utf-8")
        command = [*COMMAND, f"./{file.name}"]  # so that no message names a folder
        with (
            asyncio.Runner(loop_factory=LOOP) as runner,  # closed last: nobody waits for Perl then
            Pipe(command, seconds, cwd=folder, stderr=printed) as app,
            _logged(printed),
            limited(seconds),
        ):
            try:
                runner.run(_live(app, requests))
            except SystemExit as error:
                ended = f"the program ended with status {error.code}"
                raise PipeError(app.fault or ended) from None
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    return text, [[replace(entry, time=0.0) for entry in each.entries] for each in spoken]


async def _live(app: Pipe, requests: int) -> None:
    """Serve it, as one process alone."""
    scope = validate.lifespan_scope("pagi 0.3")
    with suppress(server.StartupFailed, server.ShutdownFailed):  # that is in the log
        async with server.Lifespan(trace.record(app), scope=scope) as lifespan:
            for number in range(1, requests + 1):
                path = {"type": "http", "method": "GET", "path": f"/{number}"}
                request = lifespan.with_state({"pagi": {"version": "0.3"}, **path})
                await app(request, _receive, _send)


async def _receive() -> dict[str, object]:
    return {"type": "http.request", "body": "", "more": 0}


async def _send(_event: object) -> None:
    """Send no response to anybody."""


@contextmanager
def _logged(printed: IO[bytes]) -> Iterator[None]:
    """Write what the server logs into this file, and nowhere else."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            printed.write(f"{record.levelname}: {record.getMessage()}\n".encode())

    handler, before = Lines(), (log.level, log.propagate, log.disabled)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = log.disabled = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        level, log.propagate, log.disabled = before
        log.setLevel(level)
