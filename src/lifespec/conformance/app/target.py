"""Find what a TARGET names, `module:attribute`, and say as a fact why it cannot be had."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lifespec.conformance.app.loops import needs_trio
from lifespec.conformance.report import Fact, fact
from lifespec.conformance.texts import shown
from lifespec.testing import left

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NotFound", "find", "malformed", "not_callable"]


class NotFound(Exception):
    """The target cannot be had; `fact` says why."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why.kind)
        self.fact = why


def malformed(target: str) -> Fact | None:
    """Return what is wrong with a name as it is written, or None."""
    module, _, attribute = target.partition(":")
    if not module or not all(part.isidentifier() for part in attribute.split(".")):
        return fact("no-attribute-named", target=target)
    if module.endswith(".py") or not all(part.isidentifier() for part in module.split(".")):
        wanted = module.removesuffix(".py").replace("/", ".").strip(".")
        return fact("no-module-name", module=module, wanted=f"{wanted}:{attribute}")
    return None


@functools.cache  # a process that is forked from this one has it
def find(target: str, *, factory: bool = False) -> Callable[..., Any]:
    """Return the callable that a target names, or with `factory` makes; raise NotFound.

    The current folder is on the path, as it is for servers.
    """
    module, _, attribute = target.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found = _attribute(_module(module), attribute)
    if factory and callable(found):
        found = _tried(found, f"{target}()")
    if not callable(found):
        raise NotFound(fact("not-callable", target=target, value=shown(found)))
    return found  # type: ignore[no-any-return]


def not_callable(app: Callable[..., Any]) -> Fact | None:
    """Return why an application cannot be called with scope, receive and send, or None."""
    try:
        inspect.signature(app).bind({}, None, None)
    except ValueError:  # it does not say what it can be called with
        return None
    except TypeError as error:
        return fact("no-application-signature", error=str(error))
    return None


def _module(name: str) -> ModuleType:
    """Import a module."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise NotFound(fact("no-module", name=error.name)) from None
        raise NotFound(_failed(error, f"import {name}")) from None
    except BaseException as error:
        raise NotFound(_failed(error, f"import {name}")) from None


def _tried(get: Callable[[], Any], what: str) -> Any:
    try:
        return get()
    except BaseException as error:
        raise NotFound(_failed(error, what)) from None


def _failed(error: BaseException, what: str) -> Fact:
    described = left.described(error)
    if needs_trio(described):
        return fact("needs-trio-installed")
    return fact("import-raised", what=what, error=described.fact())


def _attribute(module: ModuleType, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        owner = found
        try:
            found = getattr(owner, name)
        except AttributeError:
            raise NotFound(_missing(owner, name)) from None
        except BaseException as error:
            raise NotFound(_failed(error, f"getattr({shown(owner)}, {name!r})")) from None
    return found


def _missing(owner: object, name: str) -> Fact:
    """Return that there is no such attribute, and which may have been meant."""
    whose = owner.__name__ if isinstance(owner, ModuleType) else shown(owner)
    if near := difflib.get_close_matches(name, dir(owner), n=3):
        return fact("no-attribute-near", name=name, owner=whose, near=tuple(near))
    names = vars(owner) if isinstance(owner, ModuleType) else {}
    if apps := tuple(each for each, value in names.items() if _is_application(value)):
        return fact("no-attribute-apps", name=name, owner=whose, near=apps)
    return fact("no-attribute", name=name, owner=whose)


def _is_application(value: Any) -> bool:
    """Tell whether a value is, by its signature, an asynchronous application."""
    call = value if inspect.isfunction(value) else type(value).__call__
    count = 3 if call is value else 4  # with self
    return inspect.iscoroutinefunction(call) and len(inspect.signature(call).parameters) == count
