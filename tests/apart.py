"""Checks from a small process: from one that has imported all tests, a fork is dear.

A check forks a process for each case, here from one that has imported little else.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

from lifespec.conformance import Report


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
