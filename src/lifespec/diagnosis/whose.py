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
nobodys: set[tuple[str, ...]] = set()  # chains of packages that led to nobody


def learn(frames: list[Any]) -> None:
    """Treat as the author's the package that an application is of, given frames of a call of it.

    They are in the order of their calls.  Nothing is done where the author is known, or where a
    line of the call stands outside of any installation.
    """
    if stacks.own_paths:
        return
    calls = _calls_of_applications(frames)
    if not calls:
        return
    begin = frames.index(calls[0])
    below = frames[begin:]
    for frame in below:
        if stacks.is_own(frame.f_code.co_filename):
            return
    above = set(_packages(frames[:begin]))
    names = _packages(below)
    if names and names[-1] in above:  # it asks its server for an event: nothing of it runs
        return
    packages = tuple(dict.fromkeys(names))
    if packages in nobodys:  # the search looks at all modules, and there is a look each moment
        return
    candidates = [package for package in packages if package not in above]
    if len(candidates) == 1 and not _is_lifespan(calls[0]):  # a request that its author has not got
        return
    name = _holder(calls, above)
    if not name:
        name = _outermost(candidates)
    if name:
        _treat_as_own(name)
    else:
        nobodys.add(packages)


def _calls_of_applications(frames: list[Any]) -> list[Any]:
    """Return the frames of applications, which are called with a scope: of a lifespan, or another.

    An application that starts at once is seen at no place of its lifespan, but at one of a request.
    """
    calls = []
    for frame in frames:
        if stacks.is_ours(frame.f_code.co_filename):
            continue
        if stacks.application(frame):
            calls.append(frame)
    return calls


def _is_lifespan(call: Any) -> bool:
    return bool(stacks.arguments([call])["scope"]["type"] == "lifespan")


def _packages(frames: list[Any]) -> list[str]:
    """Return the package of each frame, without those of Python, of carriers and ours."""
    packages = []
    for frame in frames:
        package = _package_of_frame(frame)
        if package:
            packages.append(package)
    return packages


def _package_of_frame(frame: Any) -> str:
    """Return the package or module of a frame that is neither Python's, a carrier's nor ours."""
    file = frame.f_code.co_filename
    if stacks.says_nothing(file):
        return ""
    return _package(str(frame.f_globals.get("__name__", "")))


def _package(module: str) -> str:
    """Return the package of a module; a namespace may be several authors': the one below it."""
    parts = module.split(".")
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        package = sys.modules.get(name)
        if type(package) is not _MODULE or vars(package).get("__file__") is not None:
            return name
    return module


def _holder(calls: list[Any], above: set[str]) -> str:
    """Return the package that has the application as a variable, and not its class."""
    for frame in calls:
        application = frame.f_locals.get("self")
        if application is None:
            continue
        made_by = _package(str(type(application).__module__))
        others = {made_by, "__main__", *above}
        for package, module in _modules():
            if package in others:
                continue
            for value in list(vars(module).values()):
                if value is application:  # by identity: `==` would ask it
                    return package
    return ""


def _outermost(packages: list[str]) -> str:
    """Return the first package that none of the others imports: those of frameworks are used."""
    for name in packages:
        others = [package for package in packages if package != name]
        if not any(_imports(package, name) for package in others):
            return name
    return ""


def _imports(package: str, name: str) -> bool:
    """Tell whether a module of a package has something of another package among its variables."""
    for package_of_module, module in _modules():
        if package_of_module != package:
            continue
        for value in list(vars(module).values()):
            if _comes_from(value, name):
                return True
    return False


def _modules() -> Iterator[tuple[str, Any]]:
    """Yield the modules that are loaded, each with its package.

    Of copies, here and above: another thread may import something meanwhile.  Something else than
    a module may stand among them, too, and might run code of its own if it is asked.
    """
    for name, module in sys.modules.copy().items():
        if type(module) is _MODULE:
            yield _package(name), module


def _comes_from(value: Any, package: str) -> bool:
    if type(value) is _MODULE:
        origin = value.__name__
    elif issubclass(type(value), (type, types.FunctionType)):
        origin = value.__module__
    else:  # another object might run code if it is asked
        return False
    return _package(str(origin)) == package


def _treat_as_own(name: str) -> None:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file:
        stacks.treat_as_own(file, is_package=hasattr(module, "__path__"))
