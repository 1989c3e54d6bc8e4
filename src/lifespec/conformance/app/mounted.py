"""Watches which lifespans of mounted applications are run, in Starlette and what is built on it.

The objects are asked, and no framework is imported: what has `routes` may have mounts, what has
`lifespan_context` has a lifespan, and middleware keeps its application as `app` or in its closure.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["watched"]

DEPTH = 20  # layers of middleware and mounts
NONE = "_DefaultLifespan"  # what Starlette and FastAPI have instead of a lifespan


class _Found(NamedTuple):
    """An application below another one: where it is mounted, and what holds its lifespan."""

    path: str
    app: Any
    router: Any


@contextmanager
def watched(app: Any) -> Iterator[list[str]]:
    """Name in the end the applications in `app` whose lifespans nobody has run meanwhile."""
    unused: dict[int, str] = {}
    kept = []
    for found in _below(app):
        context = found.router.lifespan_context
        if type(context).__name__ != NONE and id(found.router) not in unused:
            unused[id(found.router)] = _named(found)
            kept.append((found.router, context))
            found.router.lifespan_context = _noting(context, unused, id(found.router))
    names: list[str] = []
    try:
        yield names
    finally:
        for router, context in kept:
            router.lifespan_context = context
    names += unused.values()


def _noting(context: Any, unused: dict[int, str], key: int) -> Any:
    @functools.wraps(context)
    def noted(*arguments: Any) -> Any:
        unused.pop(key, None)
        return context(*arguments)

    return noted


def _named(found: _Found) -> str:
    kind = type(found.app).__name__
    return f"{kind} at {found.path}" if found.path else kind


def _below(app: Any) -> Iterator[_Found]:
    """Yield what has a lifespan of its own, `app` included."""
    waiting, seen = [("", app, 0)], set()
    while waiting:
        path, here, depth = waiting.pop(0)
        if not callable(here) or id(here) in seen or depth > DEPTH:
            continue
        seen.add(id(here))
        router = _of(here, "router") or here
        if callable(_of(router, "lifespan_context")):
            yield _Found(path, here, router)
        waiting += ((path + more, child, depth + 1) for more, child in _children(here))


def _children(here: Any) -> Iterator[tuple[str, Any]]:
    """Yield the applications in a router, by path, or those that middleware wraps."""
    routes = _of(here, "routes")
    for route in routes if isinstance(routes, list) else ():
        if _of(route, "endpoint") is None:
            yield str(_of(route, "path") or ""), _of(route, "app")
    yield "", _of(here, "app")
    for cell in (here.__closure__ or ()) if isinstance(here, FunctionType) else ():
        yield "", _of(cell, "cell_contents")


def _of(thing: object, name: str) -> Any:
    """Return an attribute, None if there is none or it cannot be had."""
    with suppress(Exception):
        return getattr(thing, name)
    return None
