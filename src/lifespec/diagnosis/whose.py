"""Whose code is it, where everything is installed: the author's is that of the application itself.

In a container, and for a command that people install, nothing stands outside of an installation.
The application tells its author all the same: a module of theirs has it as a variable, or their
package is the one below the server that none of the others in its lifespan imports.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import sys
import types

from . import stacks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Iterator
    from typing import Any

_MODULE = types.ModuleType
_nobodys: set[tuple[str, ...]] = set()  # chains of packages that led to nobody


def learn(frames: list[Any]) -> None:
    """Treat as the author's the package that an application is of, given frames of its lifespan.

    They are in the order of their calls.  Nothing is done where the author is known, or where a
    line of the lifespan stands outside of any installation.
    """
    if stacks.served:
        return
    calls = list(_lifespan_calls(frames))
    if not calls:
        return
    begin = frames.index(calls[0])
    below = frames[begin:]
    if any(stacks.is_own(frame.f_code.co_filename) for frame in below):
        return
    above = {_package_of(frame) for frame in frames[:begin]} - {""}
    names = [*filter(None, map(_package_of, below))]
    if names and names[-1] in above:  # it asks its server for an event: nothing of it runs
        return
    packages = tuple(dict.fromkeys(names))
    candidates = [name for name in packages if name not in above]
    if packages not in _nobodys:
        name = _holder(calls, above) or _outermost(candidates)
        if name:
            _serve(name)
        else:
            _nobodys.add(packages)


def _lifespan_calls(frames: list[Any]) -> Iterator[Any]:
    """Yield the frames of applications that are called with the lifespan scope."""
    for frame in frames:
        if stacks.is_ours(frame.f_code.co_filename):
            continue
        scope = stacks.arguments([frame]).get("scope")
        if scope is not None and scope["type"] == "lifespan":
            yield frame


def _package_of(frame: Any) -> str:
    """Return the package or module of a frame that is neither Python's, a carrier's nor ours."""
    file = frame.f_code.co_filename
    if stacks.is_ours(file) or stacks.is_carrier(file):
        return ""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _holder(calls: list[Any], above: set[str]) -> str:
    """Return the package that has the application as a variable, and not its class."""
    for frame in calls:
        application = frame.f_locals.get("self")
        if application is None:
            continue
        made_by = str(type(application).__module__).partition(".")[0]
        for name, module in [*sys.modules.items()]:
            package = name.partition(".")[0]
            if package in (made_by, "__main__") or package in above or type(module) is not _MODULE:
                continue
            if any(value is application for value in [*vars(module).values()]):
                return package
    return ""


def _outermost(packages: list[str]) -> str:
    """Return the first package that none of the others imports: those of frameworks are used."""
    for name in packages:
        if not any(_imports(other, name) for other in packages if other != name):
            return name
    return ""


def _imports(package: str, name: str) -> bool:
    """Tell whether a module of a package has something of another package among its variables."""
    for module_name, module in [*sys.modules.items()]:
        if module_name.partition(".")[0] != package or type(module) is not _MODULE:
            continue
        if any(_comes_from(value, name) for value in [*vars(module).values()]):
            return True
    return False


def _comes_from(value: Any, package: str) -> bool:
    if type(value) is _MODULE:
        origin = value.__name__
    elif type(value) is types.FunctionType or issubclass(type(value), type):
        origin = value.__module__
    else:  # another object might run code if it is asked
        return False
    return str(origin).partition(".")[0] == package


def _serve(name: str) -> None:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file:
        stacks.serve(file, is_package=hasattr(module, "__path__"))
