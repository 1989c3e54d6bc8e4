"""The routes of an application: a start that adds them anew doubles them."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

ROUTES = 10_000  # so many paths are looked at


def paths(app: object) -> tuple[str, ...]:
    """Return the paths of the routes that an application has in a list, as those of Starlette.

    A path counts once for each function or application that it leads to.
    """
    of_endpoint: dict[tuple[str, int], str] = {}
    with suppress(Exception):  # what it has by this name is its own
        for path, endpoint in islice(_endpoints(app, ""), ROUTES):
            of_endpoint[path, id(endpoint)] = path
    return tuple(of_endpoint.values())


def _endpoints(router: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield where the paths of routes lead, and those of routers that FastAPI includes."""
    routes = getattr(router, "routes", ())
    # another kind of object may run its author's code, or have no end
    for route in routes if isinstance(routes, list) else ():
        included = getattr(route, "original_router", None)
        path = getattr(route, "path", None)
        if included is not None:
            yield from _endpoints(included, prefix + route.include_context.prefix)
        elif isinstance(path, str):
            yield prefix + path, getattr(route, "endpoint", None) or getattr(route, "app", None)
