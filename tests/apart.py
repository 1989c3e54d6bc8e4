"""Checks from a small process: from one that has imported all tests, a fork is dear.

A check forks a process for each case, here from one that has imported little else.
"""

import asyncio
import linecache
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from lifespec.conformance import Report, check_app
from lifespec.diagnosis import given
from lifespec.testing import Running


@cache
def _small() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _prepare)


def _prepare() -> None:
    """Import what each forked process would import again."""
    for name in "anyio._backends._asyncio", "starlette.applications", "trio":
        import_module(name)


def checked(check: Callable[..., Report], module: str, *keys: Any, **options: Any) -> Report:
    """Check what a module has: the attribute of the first key, there the item of the next."""
    return _small().submit(_checked, check, module, keys, options).result()


def _checked(
    check: Callable[..., Report], module: str, keys: tuple[Any, ...], options: dict[str, Any]
) -> Report:
    subject = getattr(import_module(module), keys[0])
    for key in keys[1:]:
        subject = subject[key]
    return check(subject, **options)


def checked_program(folder: Path, source: str, *, notes: bool = True, **options: Any) -> Report:
    """Check the `app` of a program, which is written into a folder as shop.py.

    With `notes` calls are noted while it is imported, as those of a target with a name are.
    """
    (folder / "shop.py").write_text(source)
    return _small().submit(_checked_program, str(folder), options, notes=notes).result()


def _checked_program(folder: str, options: dict[str, Any], *, notes: bool) -> Report:
    with _inside(folder):
        given.noted.clear()
        try:
            with given.noting_calls() if notes else nullcontext():
                subject = import_module("shop").app
        except Exception:
            subject = "shop:app"  # an import that fails is for a process of its own
        return check_app(subject, **options)


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Let a folder be the current one, from which its own shop.py is imported."""
    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.modules.pop("shop", None)
    linecache.clearcache()
    invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
        os.chdir(before)


def one_line(report: object) -> str:
    """Return a report on one line, without what wraps it."""
    return " ".join(str(report).split())


def in_fixture(folder: Path, module: str, name: str, limit: float) -> str:
    """Return what the fixture says of an application, in a process of its own; "" if it hangs."""
    return _small().submit(_tested, str(folder), module, name, limit).result()


def _tested(folder: str, module: str, name: str, limit: float) -> str:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    with _inside(folder), suppress(EOFError), ours:
        process = context.Process(target=_run, args=(module, name, limit, theirs))
        process.start()
        theirs.close()
        try:
            if ours.poll(2 * limit + 30):
                said = str(ours.recv())
                process.join(1)
                return said
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
    return ""


def _run(module: str, name: str, limit: float, pipe: Any) -> None:
    os.setsid()
    loop = asyncio.new_event_loop()  # asyncio.run would wait for the threads of its executor
    pipe.send(loop.run_until_complete(_started(getattr(import_module(module), name), limit)))
    os._exit(0)  # whatever it has left


async def _started(app: Any, limit: float) -> str:
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            async with Running(app, startup_timeout=limit, shutdown_timeout=limit):
                await asyncio.sleep(0.2)
        except Exception as error:
            said = [str(error), *getattr(error, "__notes__", [])]
    return "\n".join([*said, *(str(each.message) for each in caught)])
