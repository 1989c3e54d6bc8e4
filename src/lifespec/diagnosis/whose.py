"""Whose code is it, where everything is installed: the author's is that of the application itself.

In a container, and for a command that people install, nothing stands outside of an installation.
The application tells its author all the same: a module of theirs has it as a variable, or their
package is the one below the server that none of the others in its lifespan imports.  Packages
that were installed as one are one author's.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import os
import sys
import types
from functools import cache, lru_cache

from . import stacks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Iterable, Iterator
    from typing import Any

_MODULE = types.ModuleType
nobodys: set[tuple[Any, ...]] = set()  # calls and their packages that led to nobody


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
    if stacks.own_lines(below):
        return
    above = set(_packages(frames[:begin]))
    names = _packages(below)
    if names and names[-1] in above:  # it asks its server for an event: nothing of it runs
        return
    kind = stacks.arguments(calls)["scope"]["type"]
    # the search looks at all modules, and there is a look each moment: anew once there are more
    chain = (len(sys.modules), kind, *dict.fromkeys(names))
    if chain in nobodys:
        return
    paths = _paths_of(_author(calls, names, above, kind))
    if paths:
        stacks.own_paths[:] = paths
    else:
        nobodys.add(chain)


def _author(calls: list[Any], names: list[str], above: set[str], kind: str) -> str:
    """Return the package that an application is of, or ""."""
    authors = []
    for author in _authors(names):
        if above.isdisjoint(author):
            authors.append(author)
    if len(authors) == 1 and kind != "lifespan":  # a request that its author has not got
        return ""
    name = _holder(calls, above)
    if name:
        return name
    return "".join(_outermost(authors)[:1])


def lines_to_show(frames: list[Any]) -> list[stacks.Line]:
    """Return the lines that say where a call is, the outermost first: the author's if it has any.

    Else those of libraries below the innermost application: its lifespan function, and what that
    awaits.  Of these the library counts that uses the others.  Lines of Python and of what merely
    carries say nothing.
    """
    own = stacks.own_lines(frames)
    if own:
        return own
    begin = 0
    above: list[str] = []  # of the server
    for number, frame in enumerate(frames):
        if stacks.application(frame):
            if not begin:
                above = _packages(frames[:number])
            begin = number + 1
    below = _packages(frames[begin:])
    using: list[str] = []
    if begin and below and below[-1] not in above:  # else it waits for its server
        using = using_others(tuple(dict.fromkeys(below)), len(sys.modules))
    lines = []
    for frame in frames[begin:]:
        if stacks.says_nothing(frame.f_code.co_filename):
            continue
        if not using or _package_of_frame(frame) in using:
            lines.append(stacks.line(frame))
    return lines


@lru_cache(maxsize=8)  # it looks at all modules, and there is a look each moment
def using_others(packages: tuple[str, ...], _loaded: int) -> list[str]:
    """Return the packages of the author who uses the others, none if they use one another.

    That is so for as many modules as are loaded: one that comes later may use others.
    """
    return _outermost(_authors(packages))


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


def _authors(packages: Iterable[str]) -> list[list[str]]:
    """Return packages by their authors: those that were installed as one are together.

    The first of each is one of those that were given; others follow it that are loaded.
    """
    modules = list(_modules())
    authors: list[list[str]] = []
    for name in packages:
        if any(name in author for author in authors):
            continue
        author = [name]
        paths = tuple(_paths_of(name))
        for package, module in modules:
            if package in author:
                continue
            file = vars(module).get("__file__")
            if type(file) is str and file.startswith(paths):
                author.append(package)
        authors.append(author)
    return authors


def _outermost(authors: list[list[str]]) -> list[str]:
    """Return the first author whom none of the others imports: frameworks are used."""
    modules = list(_modules())
    for author in authors:
        others = [other for other in authors if other is not author]
        if not any(_imports(modules, other, author) for other in others):
            return author
    return []


def _imports(modules: list[tuple[str, Any]], packages: list[str], others: list[str]) -> bool:
    """Tell whether a module of some packages has something of others among its variables."""
    for package, module in modules:
        if package not in packages:
            continue
        for value in list(vars(module).values()):
            if _origin(value) in others:
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


def _origin(value: Any) -> str:
    """Return the package that a module, class or function is of, "" for another object."""
    if type(value) is _MODULE:
        return _package(str(vars(value).get("__name__")))
    if issubclass(type(value), (type, types.FunctionType)):
        return _package(str(value.__module__))
    return ""  # it might run code if it is asked


def _paths_of(name: str) -> list[str]:
    """Return the folders and files of a package and of what was installed with it; [] of no one."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if not file:
        return []
    return paths_with(file, is_package=hasattr(module, "__path__"))


def treat_as_own(file: str, *, is_package: bool) -> None:
    """Treat a module, or the package with this file, and what was installed with it as own."""
    stacks.own_paths[:] = paths_with(file, is_package=is_package)


@cache
def paths_with(file: str, *, is_package: bool) -> list[str]:
    """Return the file of a module, or the folder of a package, and what was installed with it."""
    paths = [file]
    if is_package:
        paths = [os.path.join(os.path.dirname(file), "")]
    folder, path = stacks.in_sys_path(file)
    record = stacks.record_of(folder, path)
    if record:
        lines = stacks.text_in(record).splitlines()
        files = [line.partition(",")[0] for line in lines]
        packages = {name.rpartition("/")[0] for name in files if name.endswith("/__init__.py")}
        for name in files:
            if name.endswith(".py"):
                paths.append(os.path.join(folder, *_outer(name, packages)))
    return list(dict.fromkeys(paths))


def _outer(path: str, packages: set[str]) -> list[str]:
    """Return the parts of the path of the outermost package that a file is in, or else its own."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        if "/".join(parts[:count]) in packages:
            return [*parts[:count], ""]
    return parts
