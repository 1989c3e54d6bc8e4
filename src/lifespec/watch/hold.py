"""Where known servers begin to serve; there the application is taken, and the process checks it.

`lifespec check app -- COMMAND` puts this and `hooks` into a folder, and begins here from a
`sitecustomize`, in each Python that the command starts.  Nothing is changed before a server would
serve.  Then the process asks lifespec, which has started the command, whether it is the first: that
one becomes the host of the check, and the others end.  No socket is bound: what would bind one, or
start workers, goes on to serving in its own process instead.

Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import sys

from . import hooks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

KNOWN = ("uvicorn", "hypercorn", "granian", "gunicorn", "daphne")
NEW = (3, 11)  # the Python that a check needs
TRACE = 5  # uvicorn's level of logging from which on it logs each message


class Home:
    """Finds lifespec where the command `lifespec` has it, whatever this environment has."""

    def __init__(self, home: str) -> None:
        self.home = home

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of the package, which has its modules."""
        if name != "lifespec":
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [self.home])


class Hold:
    """What takes the application of this process; once it has, servers serve as they would.

    `home` is where lifespec is, and `host` its module that then has the application.
    """

    def __init__(self, folder: str, home: str, host: str) -> None:
        self.folder, self.home, self.host = folder, home, host
        self.has_taken = False
        self.noting: Any = None
        self.finder = hooks.Finder(PLACES, self.hook)

    def begin(self) -> None:
        """Set the hooks: now in the modules that are imported, and later in the others."""
        open(os.path.join(self.folder, "python"), "w").close()  # a Python of the command runs
        sys.meta_path.insert(0, Home(self.home))
        self.finder.install()

    def hook(self, module: Any) -> None:
        """Let what begins to serve come to this object first."""
        self.note()
        for owner, name, act in PLACES[module.__name__]:
            place = module
            if owner:
                place = getattr(module, owner, None)
            if hasattr(place, name):  # another version of the server may lack it
                self.replace(place, name, act)

    def note(self) -> None:
        """Note what authors give to frameworks from now on, since a server's module is imported."""
        if self.noting is None and sys.version_info >= NEW:
            with contextlib.suppress(Exception):
                given = importlib.import_module("lifespec.diagnosis.given")
                self.noting = given.noting_calls()
                self.noting.__enter__()
                atexit.register(self.note_no_more)  # before Python takes modules apart

    def note_no_more(self) -> None:
        """Note nothing from now on."""
        if self.noting is not None:
            with contextlib.suppress(Exception):
                self.noting.__exit__(None, None, None)
            self.noting = None

    def replace(self, place: Any, name: str, act: Any) -> None:
        """Replace a function by one that acts first, while nothing is taken."""
        original = getattr(place, name)

        def held(*arguments: Any, **options: Any) -> Any:
            if self.has_taken:
                return original(*arguments, **options)
            return act(self, *arguments, **options)

        async def held_coroutine(*arguments: Any, **options: Any) -> Any:
            if not self.has_taken:  # not by the call: one that nobody awaits serves nothing
                act(self, *arguments, **options)
            return await original(*arguments, **options)

        replaced: Any = held
        if getattr(getattr(original, "__code__", None), "co_flags", 0) & hooks.COROUTINE:
            replaced = held_coroutine
        setattr(place, name, functools.wraps(original)(replaced))

    def take(self, server: str, app: Any, target: str = "", **about: Any) -> None:
        """Become the host of the check, or end if another process is; does not return.

        `target` is how the command named the application, and `about` what else is told: `off` if
        the server would run no lifespan, `interface` if it would not serve ASGI.
        """
        import signal
        import threading
        import traceback

        self.has_taken = True  # servers that the application starts are its own
        self.release()
        # only a copy of this module, in the process of a command, may be in another thread
        if threading.current_thread() is not threading.main_thread():  # pragma: no cover
            leave_main_thread()
        connection = self.ask(server, about)
        if connection is None:
            os._exit(0)
        leave_loop()
        try:
            host = importlib.import_module(self.host)
            host.main(connection.detach(), app, target)
        except BaseException:
            with open(os.path.join(self.folder, "failed"), "w", encoding="utf-8") as file:
                traceback.print_exc(file=file)
        else:  # if lifespec has gone, nobody else ends what the command has started
            os.killpg(os.getsid(0), signal.SIGKILL)
        os._exit(0)

    def ask(self, server: str, about: dict[str, Any]) -> Any:
        """Ask lifespec for the check: return the connection to it, None if it wants no host."""
        import socket

        hello = {"pid": os.getpid(), "parent": os.getppid(), "server": server, **about}
        hello["python"] = list(sys.version_info[:3])
        hello["executable"] = sys.executable
        connection = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):  # the check is over
            connection.connect(os.path.join(self.folder, "socket"))
            connection.sendall(json.dumps(hello).encode() + b"\n")
            if connection.recv(1):
                return connection
        connection.close()
        return None

    def release(self) -> None:
        """Leave this process and its environment as they were, and write out what it printed."""
        self.note_no_more()
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self.finder]
        entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        kept = os.pathsep.join(entry for entry in entries if entry != self.folder)
        if kept:
            os.environ["PYTHONPATH"] = kept
        else:
            os.environ.pop("PYTHONPATH", None)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # none, broken, closed
                stream.flush()


def leave_main_thread() -> None:  # pragma: no cover  as above
    """Go on in a process of its own: the main thread of this one may end it."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)


def leave_loop() -> None:
    """Let this thread run another event loop, although it is inside of one."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    loop = asyncio._get_running_loop()
    if loop is None:
        return
    task = asyncio.current_task(loop)
    if task is not None:  # Python 3.14 starts no other task meanwhile
        asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)


# ---- what each server does, and how its application is had ---------------------------------------


def _uvicorn(hold: Hold, server: Any, *_: Any, **__: Any) -> None:
    config = server.config
    if not config.loaded:
        config.load()
    app = config.loaded_app
    # what uvicorn itself puts around the application; an author may use the same class without it
    if config.proxy_headers and type(app).__name__ == "ProxyHeadersMiddleware":
        app = app.app
    logger = sys.modules["logging"].getLogger("uvicorn.error")
    if logger.getEffectiveLevel() <= TRACE and type(app).__name__ == "MessageLoggerMiddleware":
        app = app.app
    target = ""
    if isinstance(config.app, str):
        target = config.app
        if config.factory:
            target += "()"
    interface = "WSGI" if config.interface == "wsgi" else ""
    hold.take("uvicorn", app, target, off=config.lifespan == "off", interface=interface)


def _uvicorn_alone(hold: Hold, supervisor: Any) -> None:
    """Serve in this process instead of in workers, or in one that is reloaded."""
    sys.modules["uvicorn.server"].Server(supervisor.config).run(supervisor.sockets)


def _unbound(hold: Hold, *_: Any) -> Any:
    """Return a socket that is not bound."""
    import socket

    return socket.socket()


def _hypercorn(hold: Hold, app: Any, config: Any, **_: Any) -> None:
    target = getattr(config, "application_path", "")  # it has none in a program
    for prefix in ("asgi:", "wsgi:"):
        target = target.removeprefix(prefix)
    interface = "WSGI" if type(app).__name__ == "WSGIWrapper" else ""
    inner = getattr(app, "app", app)  # hypercorn has wrapped it
    hold.take("hypercorn", inner, target, interface=interface)


def _hypercorn_alone(hold: Hold, config: Any) -> Any:
    """Call the worker's function in this process, without sockets."""
    if config.worker_class == "trio":
        from hypercorn.trio.run import trio_worker as worker
    elif config.worker_class == "uvloop":
        from hypercorn.asyncio.run import uvloop_worker as worker
    else:
        from hypercorn.asyncio.run import asyncio_worker as worker
    return worker(config, None)


def _granian(hold: Hold, server: Any, _: Any, target_loader: Any) -> None:
    interface = getattr(server.interface, "value", str(server.interface))
    load_environment = getattr(server, "_env_loader", None)
    if load_environment is not None:  # pragma: no branch  an older granian has none
        load_environment(server.env_files)
    server._call_hooks(server.hooks_startup)
    target = ""
    if isinstance(server.target, str):
        target = server.target
        if server.factory:
            target += "()"
    other = "" if interface.startswith("asgi") else interface.upper()
    is_off = interface == "asginl"  # "no lifespan"
    hold.take("granian", target_loader(), target, off=is_off, interface=other)


def _granian_embedded(hold: Hold, server: Any, *_: Any) -> None:
    app = server.target() if server.factory else server.target
    hold.take("granian", app)


def _gunicorn_alone(hold: Hold, arbiter: Any) -> None:
    """Be a worker in this process, without sockets: its hooks are called as they would be."""
    config = arbiter.cfg
    config.set("reload", False)
    arbiter.pid = os.getpid()
    config.on_starting(arbiter)
    config.when_ready(arbiter)
    half = arbiter.timeout / 2.0
    worker = arbiter.worker_class(1, os.getppid(), [], arbiter.app, half, config, arbiter.log)
    worker.pid = os.getpid()
    config.pre_fork(arbiter, worker)
    config.post_fork(arbiter, worker)
    names = [kind.__name__ for kind in type(worker).__mro__]
    if "ASGIWorker" not in names and "UvicornWorker" not in names:
        worker.run = lambda: hold.take("gunicorn", None, interface="WSGI")
    worker.init_process()


def _gunicorn(hold: Hold, worker: Any) -> None:
    is_off = getattr(worker.cfg, "asgi_lifespan", "auto") == "off"
    hold.take("gunicorn", worker.asgi, off=is_off)


def _daphne(hold: Hold, server: Any) -> None:
    hold.take("daphne", server.application, off=True)  # it never sends a lifespan scope


# by module: a class or "", its function, and what is done instead of a call of it
PLACES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "uvicorn.config": (("Config", "bind_socket", _unbound),),
    "uvicorn.server": (("Server", "serve", _uvicorn), ("Server", "_serve", _uvicorn)),
    "uvicorn.supervisors.basereload": (("BaseReload", "run", _uvicorn_alone),),
    "uvicorn.supervisors.multiprocess": (("Multiprocess", "run", _uvicorn_alone),),
    "hypercorn.run": (("", "run", _hypercorn_alone),),
    "hypercorn.asyncio.run": (("", "worker_serve", _hypercorn),),
    "hypercorn.trio.run": (("", "worker_serve", _hypercorn),),
    "granian.server.common": (("AbstractServer", "startup", _granian),),
    "granian.server.embed": (("Server", "serve", _granian_embedded),),
    "gunicorn.arbiter": (("Arbiter", "run", _gunicorn_alone),),
    "gunicorn.workers.gasgi": (("ASGIWorker", "run", _gunicorn),),
    "daphne.server": (("Server", "run", _daphne),),
}
