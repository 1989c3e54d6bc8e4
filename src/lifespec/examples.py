"""Runs the examples of a page: one function, `run`, for the documents' build and for pytest.

A *virtual* block runs here, on the clock of `lifespec.clock`; a *real* one in a process of its
own, in real time. What a block prints is compared with what its page shows, line by line; of a
traceback only the last lines count: the exception's class and text. Lifespans are recorded.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from ctypes import c_ulong, py_object, pythonapi
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import indent
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Self

from lifespec import clock, server, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["LIMITS", "Block", "ExampleFailed", "Namespace", "Run", "Session", "joined", "run"]

LIMITS = {"virtual": 20.0, "real": 60.0}  # seconds on the wall's clock
TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True, slots=True)
class Block:
    """One example: `source` begins in line `line` of the file `page`.

    `expected` is what the page shows as output, or None; a pycon block holds its own. `needs`
    names the programs without which a block is not run.
    """

    page: str
    line: int
    language: str
    source: str
    expected: str | None
    kind: str = "virtual"
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a block: output, lifespans, and the needs that kept it from running."""

    output: str
    conversations: list[list[trace.Entry]]
    missing: tuple[str, ...] = ()


class ExampleFailed(Exception):  # noqa: N818  named as what happened
    """An example did not do what its page shows; `output` is what it printed."""

    def __init__(self, block: Block, line: int, sentence: str, output: str = "") -> None:
        super().__init__(f"{block.page}:{line}: {sentence}")
        self.block = block
        self.line = line
        self.output = output


class LimitPassed(KeyboardInterrupt):
    """The one kind of exception that asyncio lets through from any task."""


class Namespace:
    """What the blocks of a page share: names, standard output, logging, a session's loop."""

    def __init__(self) -> None:
        self.main = ModuleType("__main__")
        self.names: dict[str, Any] = vars(self.main)
        self.stdout = io.StringIO()
        self.conversations: list[trace.Conversation] = []
        self.logging = _loggers() | {logging.root: (logging.WARNING, [], [], True, False)}
        self.runner: asyncio.Runner | None = None

    @contextmanager
    def staged(self) -> Iterator[None]:
        """Put this page in the place of the program that runs."""
        with ExitStack() as stack:
            for owner, name, value in (
                (sys, "displayhook", self._display),
                (asyncio, "new_event_loop", clock.VirtualLoop),
                (asyncio.events, "new_event_loop", clock.VirtualLoop),  # asyncio.Runner's
                (server.Lifespan, "__init__", _recording(server.Lifespan.__init__)),
            ):
                stack.callback(setattr, owner, name, getattr(owner, name))
                setattr(owner, name, value)
            stack.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
            sys.modules["__main__"] = self.main
            stack.enter_context(redirect_stdout(self.stdout))
            stack.enter_context(self._logged())
            self.conversations += stack.enter_context(trace.collect())
            yield

    @contextmanager
    def _logged(self) -> Iterator[None]:
        outside = _loggers()
        _set_loggers(self.logging)
        try:
            yield
        finally:
            self.logging = _loggers()
            _set_loggers(outside)

    def _display(self, value: object) -> None:
        if value is not None:
            self.names["_"] = value
            print(repr(value))  # noqa: T201  what a session shows

    def close(self) -> None:
        """Cancel what a session left running."""
        if self.runner is not None:
            with self.staged():
                self.runner.close()
