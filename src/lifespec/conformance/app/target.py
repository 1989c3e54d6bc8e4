"""Find what a TARGET names, `module:attribute`, and say as a fact why it cannot be had."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Any

from lifespec.conformance.app import cause
from lifespec.conformance.app.loops import needs_trio
from lifespec.conformance.report import Fact, fact
from lifespec.conformance.words import shown
from lifespec.testing import left

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NotFound", "check_signature", "find", "malformed"]


class NotFound(Exception):
    """There is no application or middleware to check; `fact` says why."""

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
    """Return the callable that a target names, or with `factory` makes; raise NotFound."""
    module, _, path = target.partition(":")
    found: Any = _tried(lambda: importlib.import_module(module), f"import {module}", module)
    for name in path.split("."):
        owner = found
        found = _tried(functools.partial(getattr, owner, name, _MISSING), f"{target}")
        if found is _MISSING:
            near = tuple(difflib.get_close_matches(name, dir(owner), n=3))
            kind = "no-attribute-near" if near else "no-attribute"
            owner_name = getattr(owner, "__name__", None) or shown(owner)
            raise NotFound(fact(kind, name=name, owner=owner_name, near=near))
    if factory and callable(found):
        found = _tried(found, f"{target}()")
    if not callable(found):
        raise NotFound(fact("not-callable", target=target, value=shown(found)))
    return found  # type: ignore[no-any-return]


_MISSING = object()


def _tried(get: Callable[[], Any], what: str, module: str = "") -> Any:
    """Return what this returns; raise NotFound for whatever it raises."""
    try:
        return get()
    except BaseException as error:
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            raise NotFound(fact("no-module", name=missing)) from None
        described = left.described(error)
        if needs_trio(described):
            raise NotFound(Fact("needs-trio-installed")) from None
        raised = fact("import-raised", what=what, error=described.fact())
        advice = cause.advice_on(described)
        raise NotFound(fact("advised", what=raised, advice=advice) if advice else raised) from None


def check_signature(app: Callable[..., Any]) -> None:
    """Raise NotFound for what cannot be called with scope, receive and send."""
    try:
        inspect.signature(app).bind({}, None, None)
    except ValueError:  # it does not say what it can be called with
        return
    except TypeError as error:
        raise NotFound(fact("no-application-signature", error=str(error))) from None
