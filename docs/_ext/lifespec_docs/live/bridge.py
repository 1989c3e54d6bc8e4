"""Answers a page's calls inside Pyodide: a name and JSON come in, JSON goes out.

Pyodide puts its own loop, which always counts as running, and its own `asyncio.run` in the place
of asyncio's. During a call both are as they are in a process: the examples start loops themselves.
"""

from __future__ import annotations

import asyncio
import builtins
import json
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CALLS", "call", "prepare", "warm"]

CALLS = {  # what a page may call: the module of the function of that name
    "check": "lifespec_docs.live.play",
    "play": "lifespec_docs.live.play",
    "run_blocks": "lifespec_docs.live.blocks",
}
PROGRAM = "async def app(scope, receive, send):\n    await receive()\n"  # with which all is warm


def call(name: str, request: str, notify: Callable[[str], object] = str) -> str:
    """Call the function of that name with a dict and return the dict it returns, both as JSON.

    `notify` is given what the program prints, and what it exchanges with the server, as it does so:
    a program that blocks its loop has no other way to say it.
    """
    function = getattr(import_module(CALLS[name]), name)
    with _as_in_a_process():
        return json.dumps(function(json.loads(request), notify))


def prepare(modules: str) -> None:
    """Import what a program uses, so that its limit counts the program alone."""
    with suppress(ImportError):
        for module in json.loads(modules):
            import_module(module)


def warm() -> None:
    """Import what most calls need, and play a program, so that the first of them is quick."""
    for module in CALLS.values():
        import_module(module)
    call("play", json.dumps({"program": PROGRAM, "server": {}, "words": {}}))


def _no_input(_prompt: object = "") -> str:
    raise RuntimeError("input() is not available in a browser")


@contextmanager
def _as_in_a_process() -> Iterator[None]:
    """Let no loop run, `asyncio.run` be asyncio's own, and `input` refuse."""
    running, run = asyncio._get_running_loop(), asyncio.run  # noqa: SLF001  there is no public way
    asyncio._set_running_loop(None)  # noqa: SLF001
    asyncio.run = asyncio.runners.run
    read, builtins.input = builtins.input, _no_input
    try:
        yield
    finally:
        builtins.input, asyncio.run = read, run
        asyncio._set_running_loop(running)  # noqa: SLF001
