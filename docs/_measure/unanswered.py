"""A function of an application whose answer never comes: what it calls accepts, and stays silent.

`published.py` puts this file into the environment of an application, as if it were a dependency
of it, with a `.pth` file that imports it as Python starts.  UNANSWERED is "module:function", the
port, and a file in which the line of the call is noted, as it is seen here.
"""

import asyncio
import inspect
import os
import socket
import sys
from collections.abc import Callable, Generator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Self

VARIABLE = "UNANSWERED"


class Silence:
    """What is awaited, or entered, and waits for the port."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Self:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        await reader.read()  # whose end comes with the end of this process
        writer.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def __await__(self) -> Generator[Any, Any, Self]:
        return self.__aenter__().__await__()


def block(port: int) -> None:
    """Wait for the port in this thread."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.recv(1)


def unanswered(function: Callable[..., Any], port: int, file: Path) -> Callable[..., Any]:
    """Return a function that is called as this one is, and waits for the port."""
    waits = inspect.iscoroutinefunction(function)
    waits = waits or inspect.isasyncgenfunction(inspect.unwrap(function))

    def called(*_: object, **__: object) -> Silence | None:
        frame = sys._getframe(1)  # noqa: SLF001  the line is read here, and not by lifespec
        with file.open("a", encoding="utf-8") as calls:
            calls.write(f"{frame.f_code.co_name} {frame.f_code.co_filename}:{frame.f_lineno}\n")
        if waits:
            return Silence(port)
        block(port)
        return None

    return called


def replace(module: ModuleType, path: str, port: int, file: Path) -> None:
    """Put a function of a module, or of a class of it, out of reach."""
    *names, last = path.split(".")
    holder: Any = module
    for name in names:
        holder = getattr(holder, name)
    silent: Any = unanswered(getattr(holder, last), port, file)
    if isinstance(inspect.getattr_static(holder, last), staticmethod | classmethod):
        silent = staticmethod(silent)
    setattr(holder, last, silent)


class Finder:
    """Replaces a function as soon as its module has been imported."""

    def __init__(self, name: str, *what: Any) -> None:
        self.name, self.what = name, what

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find this module only, as the other finders do."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = None
        for finder in sys.meta_path:
            spec = spec or finder.find_spec(name, path, target)
        loader: Any = spec and spec.loader
        if loader:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                replace(module, *self.what)

            loader.exec_module = exec_module
        return spec


if VARIABLE in os.environ:
    called, number, noted = os.environ[VARIABLE].split(" ", 2)
    name, _, path = called.partition(":")
    sys.meta_path.insert(0, Finder(name, path, int(number), Path(noted)))
