"""Runs the programs of a page in a reader's browser, where Pyodide imports this module."""

from __future__ import annotations

import asyncio
import io
import json
import linecache
import traceback
from contextlib import redirect_stderr
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from lifespec_pages.block import Block
from lifespec_pages.runner import BlockFailed, OutputDiffers
from lifespec_pages.runner import run as run_block
from lifespec_pages.sandbox import Namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["run"]

NAME = "program "  # what tracebacks call a program, before its number


class _Output(io.StringIO):
    """Sends each text as it is written: a program that never ends has no other way."""

    send: Callable[[str], object] = str

    def write(self, text: str, /) -> int:
        """Keep a text, and send it."""
        self.send(text)
        return super().write(text)


def run(programs: str, send: Callable[[str], object]) -> str:
    """Run the last of some programs after the others, and `send` each text that it prints.

    The programs are JSON, and so is the answer: whether the last one does what its page shows, and
    which exceptions it and one above it raised.
    """
    output, error, above, same = _Output(), "", "", True
    namespace = Namespace(output)
    blocks = [_block(number, each) for number, each in enumerate(json.loads(programs), 1)]
    running = asyncio._get_running_loop()  # noqa: SLF001  Pyodide's, in which none can run
    asyncio._set_running_loop(None)  # noqa: SLF001
    with redirect_stderr(output), patch.object(asyncio, "run", asyncio.runners.run):
        for block in blocks:
            above = above or error.rstrip().rpartition("\n")[2]
            error, same = "", True
            output.send = send if block is blocks[-1] else str
            try:
                run_block(block, namespace)
            except OutputDiffers:
                same = False
            except BlockFailed as failed:
                cause, same = failed.__cause__, False
                error = _traceback(cause) if cause else str(failed)
        namespace.close()
    asyncio._set_running_loop(running)  # noqa: SLF001
    return json.dumps({"same": same, "error": error, "above": above})


def _block(number: int, program: dict[str, Any]) -> Block:
    name, source, output = f"{NAME}{number}", program["source"], program["output"]
    linecache.cache[name] = (0, None, source.splitlines(keepends=True), name)
    return Block(name, 1, "program", source, "python", tuple(program["classes"]), output, 1)


def _traceback(error: BaseException) -> str:
    """Return a traceback with the frames of the page's programs alone."""
    found = traceback.TracebackException.from_exception(error)
    _shorten([found])
    return "".join(found.format())


def _shorten(errors: Sequence[traceback.TracebackException]) -> None:
    for each in errors:
        each.stack[:] = [frame for frame in each.stack if frame.filename.startswith(NAME)]
        linked = (each.__cause__, each.__context__, *(each.exceptions or ()))
        _shorten([link for link in linked if link])
