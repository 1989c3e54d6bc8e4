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

    The programs are JSON, and so is the answer: whether the last one does what its page shows, and
    which exceptions it and one above it raised.
    """
    rows, output, errors = json.loads(programs), _Output(), _Output()
    above, error, same = "", "", True
    namespace, loop = Namespace(output), asyncio._get_running_loop()  # noqa: SLF001
    asyncio._set_running_loop(None)  # noqa: SLF001  while Pyodide's own runs no other can
    with redirect_stderr(errors), patch.object(asyncio, "run", asyncio.runners.run):
        for number, row in enumerate(rows, 1):
            name, source, classes = f"{NAME}{number}", row["source"], tuple(row["classes"])
            linecache.cache[name] = (0, None, source.splitlines(keepends=True), name)
            above, error, same = above or error.rstrip().rpartition("\n")[2], "", True
            output.send = errors.send = send if number == len(rows) else str
            block = Block(name, 1, "program", source, classes=classes, output=row["output"])
            try:
                compile(source, name, "exec", dont_inherit=True)
                run_block(block, namespace)
            except OutputDiffers:
                same = False
            except BaseException as failed:
                same, error = False, _traceback(failed.__cause__ or failed)
        namespace.close()
    asyncio._set_running_loop(loop)  # noqa: SLF001
    return json.dumps({"same": same, "error": "" if above else error, "above": above})


def _traceback(error: BaseException) -> str:
    """Return what Python prints of an exception, with the frames of the page's programs alone."""
    if isinstance(error, SystemExit):
        return "" if isinstance(error.code, int | None) else f"{error.code}\n"
    found = [traceback.TracebackException.from_exception(error)]
    for each in found:  # which grows
        each.stack[:] = [frame for frame in each.stack if frame.filename.startswith(NAME)]
        linked = (each.__cause__, each.__context__, *(each.exceptions or ()))
        found.extend(link for link in linked if link)
    return "".join(found[0].format() if found[0].stack else found[0].format_exception_only())
