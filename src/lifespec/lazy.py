"""Names of a package whose modules are imported when one of them is used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any

__all__ = ["attach"]


def attach(
    package: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package; `names` has those of each module."""
    module_of = {name: module for module, group in names.items() for name in group}

    def __getattr__(name: str) -> Any:  # noqa: N807  that is what it becomes
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(modules[package], name, found)
        return found

    def __dir__() -> list[str]:  # noqa: N807  the same
        return sorted({*vars(modules[package]), *module_of})

    return __getattr__, __dir__
