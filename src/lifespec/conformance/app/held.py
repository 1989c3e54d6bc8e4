"""The host of a check that a command has become: the process in which a server would have served.

It plays cases as `process.be_host` does, with the application that the server was given.
"""

import multiprocessing
import os
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from lifespec.conformance import cases
from lifespec.conformance.app import process
from lifespec.conformance.app.target import NotFound
from lifespec.diagnosis import author, registered, stacks
from lifespec.diagnosis.fact import Fact
from lifespec.watch.hold import KNOWN

# packages that may stand between the one that has built the application and this module
CARRIERS = {*KNOWN, "uvicorn_worker", "fastapi_cli", "click", "typer", "anyio", "uvloop", "trio"}
CARRIERS |= {"lifespec", "lifespec_held"}


class Held(NamedTuple):
    """What the command would serve: its name, and why it cannot be checked.

    `threads` are the names of the threads that run beside the one that would serve.
    """

    name: str
    why: Fact | None
    threads: tuple[str, ...] = ()


def main(number: int, app: Any, target: str) -> None:
    """Be the host of the check of `app` until lifespec ends it, or has gone.

    `target` is how the command named it, "" if it has built it.
    """
    connection = Connection(number)
    os.set_inheritable(number, False)  # noqa: FBT003
    job = connection.recv()._replace(subject=app)
    # a process that is a daemon to multiprocessing may have no children
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # noqa: SLF001
    name = target or _name_of(app)
    author.own_package(name.partition(":")[0] or serving_module(sys._getframe()))  # noqa: SLF001
    cases.load()  # the processes that are forked have them
    why = None
    try:
        registered.remember(job.find)
    except NotFound as error:
        why = error.fact
    here = threading.current_thread()
    others = tuple(thread.name for thread in threading.enumerate() if thread is not here)
    connection.send(Held(name or description(app), why, others))
    if why is None:
        process.play_on(job, connection, "fork")


def _name_of(app: Any) -> str:
    """Return the name of the application in a module that has it, "" if none has.

    A script is named by another module if one has it, too: `__main__` cannot be imported.
    """
    modules = list(sys.modules.copy().items())
    modules.sort(key=lambda item: item[0].startswith("__"))
    for name, module in modules:
        # copies, since another thread may import, or set a global, meanwhile
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is app:
                return f"{name}:{attribute}"
    return ""


def serving_module(frame: FrameType | None) -> str:
    """Return the module that let a server serve: the innermost that is no server's, nor Python's.

    "" if there is none.  Its package has built the application.
    """
    library = str(Path(os.__file__).parent)
    for outer in stacks.outward(frame):
        module = str(outer.f_globals.get("__name__", ""))
        if module.partition(".")[0] in CARRIERS:
            continue
        if not _is_python(outer.f_code.co_filename, library):
            return module
    return ""


def _is_python(file: str, library: str) -> bool:
    """Tell whether a file is Python's own; `library` is where those are."""
    # such as <frozen importlib._bootstrap>; site-packages, or dist-packages of Debian, are below it
    return file.startswith("<") or (file.startswith(library) and "-packages" not in file)


def description(app: Any) -> str:
    """Return the class of an application, with its title if it has one; or a function's name."""
    name = getattr(app, "__qualname__", None)
    if isinstance(name, str):
        return name
    kind = type(app).__qualname__
    title = getattr(app, "title", None)
    has_title = isinstance(title, str) and title not in ("", kind)  # FastAPI's default: "FastAPI"
    return f'{kind} "{title}"' if has_title else kind
