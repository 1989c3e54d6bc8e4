"""The data of tables: each module here arranges the rows of a record for its templates.

A module has `TABLES`, a dict of its tables by name. A table is a function that takes the arguments
of `{table}` as strings and returns what its template knows by name.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

View = Callable[..., dict[str, Any]]


def tables() -> dict[str, View]:
    """Return the function of each table by the name of the table, which only one module has."""
    views: dict[str, View] = {}
    for module in iter_modules(__path__):
        views |= import_module(f"{__name__}.{module.name}").TABLES
    return views
