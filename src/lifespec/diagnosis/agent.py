"""The looker inside of a watched process: it writes down what the process does while nothing moves.

`lifespec watch` puts `agent`, `alive` and `stacks` into a folder, and begins here from a
`sitecustomize`, so that workers, reloaded children and forks have it, too.  A thread looks ten
times a second while startup or shutdown lasts, and else once a second.  Each process has a file,
with a line of JSON for each event and for each look that differs from the one before; its time of
modification says when the thread last ran.  Self-contained, for Python 3.9 and newer.

What goes wrong here is nobody's trouble but ours: it is left out, and the server goes on.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import signal
import sys
import threading
import time
import weakref
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from time import monotonic, sleep  # as they are before gevent, say, replaces them
from typing import Any, NamedTuple

from . import alive, stacks

TICK, REST = 0.1, 1.0  # seconds between two looks
SOON = 5.0  # seconds in which a process is looked at often, whatever it does
MOST = 8  # calls, and lines of a call, that are written down
COUNTED = 200  # tasks whose calls are looked at, the oldest first
_COROUTINE = 0x80  # the flag of its code
_SIGNALS = {"SIGINT": 2, "SIGTERM": 15}
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Server(NamedTuple):
    """A class of a server that carries out a lifespan, and its methods.

    That which calls the application, those that it is given, and that which begins shutdown.
    """

    name: str
    kind: str
    call: str
    receive: str
    send: str
    stop: str


# by module
SERVERS = {
    "uvicorn.lifespan.on": Server("uvicorn", "LifespanOn", "main", "receive", "send", "shutdown"),
    "hypercorn.asyncio.lifespan": Server(
        "hypercorn", "Lifespan", "handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown"
    ),
    "hypercorn.trio.lifespan": Server(
        "hypercorn", "Lifespan", "handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown"
    ),
    "granian.asgi": Server("granian", "LifespanProtocol", "handle", "receive", "send", "shutdown"),
    "gunicorn.asgi.lifespan": Server(
        "gunicorn", "LifespanManager", "_run_lifespan", "_receive", "_send", "shutdown"
    ),
}
# methods whose call says something by itself: module, class, method, and what
MOMENTS = {
    "uvicorn.server": ("uvicorn", "Server", "shutdown", "stop"),
    "uvicorn.lifespan.off": ("uvicorn", "LifespanOff", "startup", "no-lifespan"),
    "daphne.server": ("daphne", "Server", "run", "no-lifespan"),
}


class Lifespan:
    """A call of an application with the lifespan scope, by a known server."""

    def __init__(self) -> None:
        self.coroutine: Any = lambda: None  # weak references, to the call and to one of receive
        self.receive: Any = lambda: None
        self.has_received = self.is_answered = False  # of startup

    def is_in_receive(self) -> bool:
        """Tell whether the application waits for an event."""
        return getattr(self.receive(), "cr_frame", None) is not None


class Agent:
    """What looks at this process, and writes into a file of a folder.

    `own` is the package of the application, `watcher` the process that reads.
    """

    def __init__(self, folder: str, own: str = "", watcher: int = 0) -> None:
        self.folder, self.own, self.watcher = folder, own, watcher
        self.begin()

    def begin(self) -> None:
        """Begin, perhaps anew: in a process that was forked."""
        self.pid = os.getpid()
        self.path = os.path.join(self.folder, f"{self.pid}.jsonl")
        self.lifespans: list[Lifespan] = []
        self.loops: dict[Any, int] = {}  # those of servers, and their threads
        self.known: Any = weakref.WeakKeyDictionary()  # tasks, and when they were seen first
        self.died: set[int] = set()
        self.posted: dict[Any, float] = {}  # calls that loops have not run yet
        self.requests: dict[str, Any] = {}
        self.began = monotonic()
        self.counted = 0.0  # when tasks were looked at
        self.before = ""
        self.main: tuple[Any, float] = (None, 0.0)  # where the main thread is, and since when
        self.is_stopping = self.had_loop = False
        self.note("began")

    def run(self) -> None:
        """Look, for as long as this process lives and somebody reads."""
        pid = self.pid
        while self.pid == pid and self.is_watched():
            sleep(TICK if self.is_lively() else REST)
            with contextlib.suppress(Exception):
                self.look(monotonic())

    def is_watched(self) -> bool:
        """Tell whether somebody reads; if not, remove what was written."""
        if self.watcher:
            try:
                os.kill(self.watcher, 0)
            except ProcessLookupError:
                import shutil  # noqa: PLC0415  not at the start of each process

                shutil.rmtree(self.folder, ignore_errors=True)
                return False
            except OSError:  # it is another user's
                pass
        return True

    def is_lively(self) -> bool:
        """Tell whether startup or shutdown may last."""
        soon = monotonic() - self.began < SOON
        return soon or self.is_stopping or not all(each.is_answered for each in self.lifespans)

    def note(self, what: str, **more: Any) -> None:
        """Write a line; a full disk is no reason to stop a server."""
        with contextlib.suppress(Exception):
            text = json.dumps({"what": what, "time": time.time(), **more}, default=repr) + "\n"
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, text.encode("utf-8", "backslashreplace"))
            finally:
                os.close(file)

    # ---- what is seen ----

    def look(self, now: float) -> None:
        """Write down what the process does, if it is something else than before."""
        if os.path.exists(os.path.join(self.folder, "stop")):
            self.is_stopping = True
        frames = stacks.threads()
        frames.pop(get_ident(), None)
        loops = self.running(frames)
        self.had_loop = self.had_loop or bool(loops)
        few = self.is_lively() and len(self.known) < COUNTED / 10
        if few or now - self.counted >= REST:
            self.counted = now
            self.look_at_tasks(loops, now)
        if self.is_lively():
            seen = self.seen(frames, loops, now)
            if repr(seen) != self.before:
                self.before = repr(seen)
                self.note("look", **seen)
        os.utime(self.path)  # it has looked

    def running(self, frames: dict[int, Any]) -> dict[Any, Any]:
        """Return the event loops that run, each with the innermost frame of its thread."""
        found = alive.loops(frames)
        for loop, thread in [*self.loops.items()]:
            if thread in frames and alive.is_running(loop, frames[thread]):
                found[loop] = frames[thread]
        return found

    def seen(self, frames: dict[int, Any], loops: dict[Any, Any], now: float) -> dict[str, Any]:
        """Return what this process does."""
        found = {
            "loops": len(loops),
            "blocked": [x for x in (self.busy(*each, now) for each in loops.items()) if x],
            "lifespans": [self.where(each) for each in self.lifespans],
            "handlers": self.handlers(loops),
            **self.requests,
        }
        if loops:
            return found
        main = stacks.of_thread(frames.get(threading.main_thread().ident or 0))
        found["importing"], found["main"] = importing(main), self.lines(main)
        if found["main"] != self.main[0]:
            self.main = found["main"], now
        found["for"] = int(now - self.main[1])
        if self.had_loop:
            found["threads"] = [
                [each.name, self.lines(stacks.of_thread(frames.get(each.ident)))]
                for each in alive.threads()
                if each is not threading.main_thread() and alive.holds(each)
            ]
            found["children"] = alive.children(self.pid)
        return found

    def handlers(self, loops: dict[Any, Any]) -> dict[str, Any]:
        """Return the author's own handlers of the signals that end a server."""
        found = {}
        for name, number in _SIGNALS.items():
            handlers: list[Any] = [signal.getsignal(number)]
            for loop in loops:
                handle = getattr(loop, "_signal_handlers", {}).get(number)
                handlers.append(getattr(handle, "_callback", None))
            for each in handlers:
                code = getattr(each, "__code__", None)
                if code is not None and self.is_own(code.co_filename):
                    found[name] = [code.co_filename, code.co_firstlineno, name_of(each), True]
        return found

    def lines(self, frames: list[Any]) -> list[Any]:
        """Return the author's lines among frames, or else the innermost one, with whose it is."""
        found = [stacks.line(each) for each in frames]
        own = [each for each in found if self.is_own(each.file)]
        return [[*each, bool(own)] for each in own[-MOST:] or found[-1:]]

    def is_own(self, file: str) -> bool:
        """Tell whether a file is the author's: of no library, or of the package that is served."""
        if file.startswith(_FOLDER):
            return False
        module = sys.modules.get(self.own) if self.own else None
        home = os.path.dirname(getattr(module, "__file__", None) or "")
        package = bool(home) and hasattr(module, "__path__") and file.startswith(home + os.sep)
        return package or not stacks.is_installed(file)

    def busy(self, loop: Any, top: Any, now: float) -> Any:
        """Return for how many seconds a loop runs one thing, and where that is; None if it waits.

        The loop gets a call that does nothing: it is blocked until that has run.
        """
        frames = stacks.of_thread(top)
        since = self.posted.get(loop)
        if since is not None:
            return [int(now - since), self.lines(frames)]
        if not stacks.is_idle(frames):
            self.posted[loop] = now
            post = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
            try:
                post(self.posted.pop, loop, None)
            except Exception:  # it has been closed meanwhile
                self.posted.pop(loop, None)
        return None

    def where(self, call: Lifespan) -> dict[str, Any]:
        """Return where a call with the lifespan scope is."""
        coroutine = call.coroutine()
        is_over = getattr(coroutine, "cr_frame", None) is None
        runs = bool(getattr(coroutine, "cr_running", False))
        lines = self.lines(stacks.branch(coroutine)) if not is_over and not runs else []
        return {"over": is_over, "runs": runs, "asks": call.is_in_receive(), "lines": lines}

    def look_at_tasks(self, loops: dict[Any, Any], now: float) -> None:
        """Note the tasks that are new, those that have died, and the requests that are open."""
        found: dict[int, list[Any]] = {}
        others = []
        tasks = [each for loop, top in loops.items() for each in alive.tasks(loop, top)]
        for each in tasks:
            self.known.setdefault(each, now)
        for task, since in [*self.known.items()]:
            if getattr(task, "_log_traceback", False) and now - since >= REST:
                self.note_died(task)
        if not self.is_lively():
            return
        tasks.sort(key=self.known.__getitem__)
        calls = [(stacks.branch(each), self.known[each]) for each in tasks[:COUNTED]]
        untracked = untracked_calls() if self.is_stopping else []  # it looks at every object
        calls += [(stacks.awaited(each), None) for each in untracked]
        for frames, since in calls:
            scope = stacks.scope_of(frames)
            if scope is not None and scope["type"] == "lifespan":
                asks = any(each.f_code.co_name.endswith("receive") for each in frames)
                others.append(
                    {"over": False, "runs": False, "asks": asks, "lines": self.lines(frames)}
                )
            elif scope is not None:
                method, path = scope.get("method") or scope["type"], scope.get("path", "")
                age = None if since is None else int(now - since)
                row = [str(method), str(path), age, self.lines(frames)]
                found.setdefault(id(scope), row)
        rows = sorted(found.values(), key=lambda row: -(row[2] or 0))
        self.requests = {"requests": rows[:MOST], "open": len(rows), "all": len(tasks) <= COUNTED}
        self.requests["others"] = [] if self.lifespans else others

    def note_died(self, task: Any) -> None:
        """Note a task whose exception nobody has asked for."""
        if id(task) not in self.died:
            self.died.add(id(task))
            self.note("died", task=name_of(task.get_coro()), error=self.error(task._exception))  # noqa: SLF001

    def error(self, error: Any) -> Any:
        """Return an exception as data: of a group the first, with its last line of the author."""
        while getattr(error, "exceptions", ()):
            error = error.exceptions[0]
        if error is None:
            return None
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(stacks.line(trace.tb_frame, trace.tb_lineno))
            trace = trace.tb_next
        own = [[*each, True] for each in frames if self.is_own(each.file)]
        return {"type": type(error).__name__, "text": str(error)[:500], "lines": own[-1:]}


def name_of(call: Any) -> str:
    """Return the name of a function or coroutine, or ""."""
    return stacks.short(getattr(call, "__qualname__", ""))


def importing(frames: list[Any]) -> str:
    """Return the module that a thread imports, or ""."""
    for frame in reversed(frames):
        if frame.f_code.co_name == "_find_and_load":
            return str(frame.f_locals.get("name", ""))
    return ""


def untracked_calls() -> list[Any]:
    """Return the calls that granian runs in no task."""
    if "granian.asgi" not in sys.modules:
        return []
    calls = (each for each in gc.get_objects() if hasattr(type(each), "cr_frame"))
    return [each for each in calls if each.__name__ == "future_watcher"]


# ---- what servers are asked for ----------------------------------------------------------------


class Finder:
    """Lets the classes of SERVERS and MOMENTS say what they do, once their module is imported."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of such a module, as the other finders have it."""
        if name not in SERVERS and name not in MOMENTS:
            return None
        for each in sys.meta_path:
            find = getattr(each, "find_spec", None)
            spec = find(name, path, target) if find and each is not self else None
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module = self.hooked(spec.loader.exec_module)
                return spec
        return None

    def hooked(self, execute: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return what executes a module, and then hooks its classes."""

        def executes(module: Any) -> None:
            execute(module)
            with contextlib.suppress(Exception):
                hook(module, self.agent)

        return executes


def hook(module: Any, agent: Agent) -> None:
    """Let the methods of a server's classes tell when they are called."""
    name = module.__name__
    if name in MOMENTS:
        title, owner, method, what = MOMENTS[name]
        on_call(
            getattr(module, owner), method, lambda *_: agent.note(what, server=title), first=True
        )
    if name not in SERVERS:
        return
    server = SERVERS[name]
    kind = getattr(module, server.kind)
    calls: Any = weakref.WeakKeyDictionary()

    def called(this: Any, coroutine: Any, *_: Any) -> None:
        call = calls[this] = Lifespan()
        call.coroutine = weakref.ref(coroutine)
        agent.lifespans.append(call)
        agent.note("called", server=server.name)

    def receives(this: Any, coroutine: Any, *_: Any) -> None:
        calls[this].receive = weakref.ref(coroutine)
        calls[this].has_received = True
        agent.loops[current_loop()] = get_ident()

    def sent(this: Any, _: Any, message: Any, *__: Any) -> None:
        if this in calls:  # and was not called before it was watched
            calls[this].is_answered = True
        error = agent.error(sys.exc_info()[1])
        agent.note("sent", type=message["type"], text=str(message.get("message", "")), error=error)

    def stopped(*_: Any) -> None:
        agent.is_stopping = True
        agent.note("shutdown", server=server.name)

    on_call(kind, server.call, called)
    on_call(kind, server.receive, receives)
    on_call(kind, server.send, sent)
    on_call(kind, server.stop, stopped)
    set_before = kind.__setattr__

    def set_now(this: Any, name: str, value: Any) -> None:
        set_before(this, name, value)
        error = sys.exc_info()[1]
        if error is not None:  # the server has caught what the application raised
            with contextlib.suppress(Exception):
                calls[this].is_answered = True
                received = calls[this].has_received
                agent.note("raised", error=agent.error(error), received=received)

    kind.__setattr__ = set_now


def on_call(kind: Any, method: str, note: Callable[..., Any], *, first: bool = False) -> None:
    """Replace a method by itself, and a note of each call: object, result, arguments.

    With `first` the note comes before the call, and without its result.
    """
    original = getattr(kind, method)

    @functools.wraps(original)
    def noted(this: Any, *arguments: Any, **options: Any) -> Any:
        result = None if first else original(this, *arguments, **options)
        with contextlib.suppress(Exception):
            note(this, result, *arguments)
        return original(this, *arguments, **options) if first else result

    code = getattr(original, "__code__", None)
    mark = getattr(sys.modules.get("inspect"), "markcoroutinefunction", None)  # Python 3.12
    if code is not None and mark is not None and code.co_flags & _COROUTINE:
        noted = mark(noted)
    setattr(kind, method, noted)


def current_loop() -> Any:
    """Return the event loop of asyncio that runs here, or the token of that of trio."""
    try:
        return sys.modules["asyncio"].get_running_loop()
    except (KeyError, RuntimeError):
        return sys.modules["trio"].lowlevel.current_trio_token()


def begin(folder: str, own: str = "", watcher: int = 0) -> Agent:
    """Begin to watch this process and those that are forked from it."""
    agent = Agent(folder, own, watcher)
    sys.meta_path.insert(0, Finder(agent))
    for each in {*SERVERS, *MOMENTS}:  # where a process is watched that runs already
        if each in sys.modules:
            hook(sys.modules[each], agent)

    def start() -> None:
        start_new_thread(agent.run, ())

    def forked() -> None:
        agent.begin()
        start()

    start()
    os.register_at_fork(after_in_child=forked)
    return agent
