"""Checks from a small process: from one that has imported all tests, a fork is dear.

A check forks a process for each case, here from one that has imported little else.
"""

import linecache
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from lifespec.conformance import Report, check_app


@cache
def _small() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


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


def checked_program(folder: Path, source: str, **options: Any) -> Report:
    """Check the `app` of a program, which is written into a folder as shop.py."""
    (folder / "shop.py").write_text(source)
    return _small().submit(_checked_program, str(folder), options).result()


def _checked_program(folder: str, options: dict[str, Any]) -> Report:
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.modules.pop("shop", None)
    linecache.clearcache()
    invalidate_caches()
    try:
        subject = import_module("shop").app
    except Exception:
        subject = "shop:app"  # an import that fails is for a process of its own
    try:
        return check_app(subject, **options)
    finally:
        sys.path.remove(folder)
