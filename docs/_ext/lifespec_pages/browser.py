"""Run the programs of a page in a reader's browser, where Pyodide imports this module."""

import asyncio
import io
import json
import linecache
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr
from unittest.mock import patch

from lifespec_pages.block import Block
from lifespec_pages.runner import OutputDiffers
from lifespec_pages.runner import run as run_block
from lifespec_pages.sandbox import Namespace

NAME = "program "  # what tracebacks call a program, before its number


class _Output(io.StringIO):
    send: Callable[[str], object] = str

    def write(self, text: str, /) -> int:
        """Send a text as it is written: a program that never ends has no other way."""
        self.send(text)
        return super().write(text)


def run(programs: str, send: Callable[[str], object]) -> str:
    """Run the last of some programs after the others, and `send` each text that it prints.

    The programs are JSON, and so is the answer: whether the last one does what its page shows,
    which exceptions it and one above it raised, and why a browser could not do what it wanted.
    """
    rows, output, errors = json.loads(programs), _Output(), _Output()
    above, error, why, same = "", "", "", True
    namespace, loop = Namespace(output), asyncio._get_running_loop()  # noqa: SLF001
    asyncio._set_running_loop(None)  # noqa: SLF001  while Pyodide's own runs no other can
    with redirect_stderr(errors), patch.object(asyncio, "run", asyncio.runners.run):
        for number, row in enumerate(rows, 1):
            name, source, classes = f"{NAME}{number}", row["source"], tuple(row["classes"])
            linecache.cache[name] = (0, None, source.splitlines(keepends=True), name)
            above, error = above or error.rstrip().rpartition("\n")[2], ""
            why, same = "", True
            output.send = errors.send = send if number == len(rows) else str
            block = Block(name, 1, "program", source, classes=classes, output=row["output"])
            try:
                compile(source, name, "exec", dont_inherit=True)
                run_block(block, namespace)
            except OutputDiffers:
                same = False
            except BaseException as failed:
                raised = failed.__cause__ or failed
                same, error, why = False, _traceback(raised), _why(raised)
        namespace.close()
    asyncio._set_running_loop(loop)  # noqa: SLF001
    error, why = ("", "") if above else (error, why)
    return json.dumps({"same": same, "error": error, "above": above, "why": why})


def _why(error: BaseException) -> str:
    """Return which sentence of the page explains an exception: the name of one, or ""."""
    if isinstance(error, SystemExit) and error.code and isinstance(error.code, int):
        return "exited"
    if isinstance(error, ModuleNotFoundError):
        return "absent"
    if isinstance(error, EOFError):
        return "input"
    return ""


def _traceback(error: BaseException) -> str:
    """Return what Python prints of an exception, with the frames of the page's programs alone."""
    if isinstance(error, SystemExit):
        if isinstance(error.code, int) and error.code:
            return f"SystemExit: {error.code}\n"
        return f"{error.code}\n" if isinstance(error.code, str) else ""
    if isinstance(error, SyntaxError) and not error.text and error.filename in linecache.cache:
        error.text = linecache.getline(error.filename, error.lineno or 0)  # of `await` outside
    shown = traceback.TracebackException.from_exception(error)
    errors = [shown]
    for one in errors:  # which grows
        one.stack[:] = [frame for frame in one.stack if frame.filename.startswith(NAME)]
        linked = (one.__cause__, one.__context__, *(one.exceptions or ()))
        errors.extend(link for link in linked if link)
    if shown.stack:
        return "".join(shown.format())
    return "".join(shown.format_exception_only())
