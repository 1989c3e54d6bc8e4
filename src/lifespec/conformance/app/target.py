"""Finds what a TARGET names, `module:attribute`, and says in a sentence why it cannot."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from lifespec import limits
from lifespec.conformance.texts import said, shown
from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find"]


def find(target: str, *, factory: bool = False, limit: float = 30.0) -> Callable[..., Any]:
    """Return the callable that a target names, or with `factory` makes; raise Unchecked.

    The current folder is on the path, as it is for servers.  `limit` is in seconds.
    """
    module, _, attribute = target.partition(":")
    if not module or not all(part.isidentifier() for part in attribute.split(".")):
        raise Unchecked(f"{target!r} has no attribute: give module:attribute, {_LIKE}")
    if module.endswith(".py") or not all(part.isidentifier() for part in module.split(".")):
        wanted = module.removesuffix(".py").replace("/", ".").strip(".")
        raise Unchecked(f"{module!r} is not a module name: give {wanted}:{attribute}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found = _limited(target, limit, lambda: _attribute(target, _module(module), attribute))
    if factory:
        found = _limited(target, limit, _called(target, found))
    if not callable(found):
        what = f"what {target} makes" if factory else target
        raise Unchecked(f"{what} is {shown(found)}, which cannot be called: name an application")
    return cast("Callable[..., Any]", found)


_LIKE = "as in shop.main:app"


def _limited(target: str, limit: float, do: Callable[[], Any]) -> Any:
    try:
        with limits.limited(limit):
            return do()
    except limits.LimitPassed:
        raise Unchecked(
            f"{target} was not imported within {limit:g} s: let its module import faster,"
            " or give a longer --timeout"
        ) from None


def _module(name: str) -> ModuleType:
    """Import a module; say what its own code raised."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise Unchecked(
                f"there is no module {error.name!r}: call the command in the folder that has it,"
                " or name it as it is imported"
            ) from None
        raise Unchecked(_raised(f"import {name}", error)) from None
    except limits.LimitPassed:
        raise
    except BaseException as error:
        raise Unchecked(_raised(f"import {name}", error)) from None


def _called(target: str, found: Any) -> Callable[[], Any]:
    def call() -> Any:
        try:
            return found()
        except limits.LimitPassed:
            raise
        except BaseException as error:
            raise Unchecked(_raised(f"{target}()", error)) from None

    return call


def _raised(what: str, error: BaseException) -> str:
    text = " / ".join(said(error).splitlines())
    return (
        f"`{what}` raised {type(error).__name__}{': ' * bool(text)}{text}:"
        " make it work in `python -c` first"
    )


def _attribute(target: str, module: ModuleType, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        owner = found
        try:
            found = getattr(owner, name)
        except AttributeError:
            raise Unchecked(
                f"{target}: there is no {name!r} in {_whom(owner)}; {_instead(owner, name)}"
            ) from None
        except limits.LimitPassed:
            raise
        except BaseException as error:
            raise Unchecked(_raised(f"getattr({shown(owner)}, {name!r})", error)) from None
    return found


def _whom(owner: object) -> str:
    return owner.__name__ if isinstance(owner, ModuleType) else shown(owner)


def _instead(owner: object, name: str) -> str:
    """Return which attributes may have been meant: names that are alike, or applications."""
    if near := difflib.get_close_matches(name, dir(owner), n=3):
        return f"it has {', '.join(near)}"
    names = vars(owner) if isinstance(owner, ModuleType) else {}
    found = [each for each, value in names.items() if _is_application(value)]
    return f"its applications are {', '.join(found)}" if found else "name one that it has"


def _is_application(value: Any) -> bool:
    """Tell whether a value is, by its signature, an asynchronous application."""
    call = value if inspect.isfunction(value) else type(value).__call__
    count = 3 if call is value else 4  # with self
    return inspect.iscoroutinefunction(call) and len(inspect.signature(call).parameters) == count
