"""The looker inside of a watched process: it writes down what the process does while nothing moves.

`lifespec watch` puts this and what it imports into a folder, and begins here from a
`sitecustomize`, so that workers, reloaded children and forks have it, too.  A thread looks ten
times a second while startup or shutdown lasts, and else once a second.  Each process has a file,
with a line of Python for each event and for each look that differs from the one before; its time of
modification says when the thread last ran.  Self-contained, for Python 3.9 and newer.

What goes wrong here is nobody's trouble but ours: it is left out, and the server goes on.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import sys
import time
import weakref
from _signal import getsignal  # type: ignore[import-not-found]  # its module in Python loads `enum`
from _thread import get_ident, start_new_thread
from os import utime
from time import monotonic, sleep  # as they are before gevent, say, replaces them

from ..diagnosis import alive, stacks, waits
from . import hooks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

TICK = 0.1  # seconds between two looks
REST = 1.0  # while a server serves
SOON = 5.0  # seconds in which a process is looked at often, whatever it does
MOST = 8  # calls, and lines of a call, that are written down
COUNTED = 200  # tasks whose calls are looked at, the oldest first
_SIGNALS = {"SIGINT": 2, "SIGTERM": 15}


class Agent:
    """What looks at this process, and writes into a file of a folder.

    `own` is the package of the application.  Who reads keeps a lock on the folder.
    """

    def __init__(self, folder: str, own: str = "") -> None:
        self.folder, self.own = folder, own
        self.begin()

    def begin(self) -> None:
        """Begin, perhaps anew: in a process that was forked."""
        self.pid, self.thread = os.getpid(), get_ident()  # the main one
        self.path = os.path.join(self.folder, f"{self.pid}.seen")
        self.lifespans: list[hooks.Lifespan] = []
        self.loops: dict[Any, int] = {}  # those of servers, and their threads
        self.known: Any = weakref.WeakKeyDictionary()  # tasks, and when they were seen first
        self.failed: set[int] = set()
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
            with contextlib.suppress(Exception):
                utime(self.path)  # it has looked

    def is_watched(self) -> bool:
        """Tell whether somebody reads; if not, remove what was written."""
        with contextlib.suppress(OSError):  # it was removed, or is locked
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            finally:
                os.close(folder)
            import shutil  # noqa: PLC0415  not at the start of each process

            shutil.rmtree(self.folder, ignore_errors=True)
        return False

    def is_lively(self) -> bool:
        """Tell whether startup or shutdown may last."""
        soon = monotonic() - self.began < SOON
        asks = [each["asks"] for each in self.requests.get("others", ())]
        answered = all(asks) and all(each.is_answered for each in self.lifespans)
        return soon or self.is_stopping or not answered

    def note(self, what: str, **more: Any) -> None:
        """Write a line; a full disk is no reason to stop a server."""
        with contextlib.suppress(Exception):
            text = repr({"what": what, "time": time.time(), **more}) + "\n"
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, text.encode())
            finally:
                os.close(file)

    # ---- what is seen ----

    def look(self, now: float) -> None:
        """Write down what the process does, if it is something else than before."""
        if os.path.exists(os.path.join(self.folder, "stop")):
            self.is_stopping = True
        self.find_served()
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

    def find_served(self) -> None:
        """Find the package that is served, once it is imported."""
        module = sys.modules.get(self.own)
        file = getattr(module, "__file__", None)
        if file:
            stacks.serve(file, is_package=hasattr(module, "__path__"))

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
        main = stacks.of_thread(frames.get(self.thread))
        found["importing"], found["main"] = importing(main), self.lines(main)
        if found["main"] != self.main[0]:
            self.main = found["main"], now
        found["for"] = int(now - self.main[1])
        if self.had_loop:
            found["threads"] = [
                [alive.name_of(each), self.lines(stacks.of_thread(frames.get(each.ident)))]
                for each in alive.threads()
                if each.ident != self.thread and alive.holds(each)
            ]
            found["children"] = sorted(alive.children(self.pid).values())
        return found

    def handlers(self, loops: dict[Any, Any]) -> dict[str, Any]:
        """Return the author's own handlers of the signals that end a server."""
        found = {}
        for name, number in _SIGNALS.items():
            handlers: list[Any] = [getsignal(number)]
            for loop in loops:
                handle = getattr(loop, "_signal_handlers", {}).get(number)
                handlers.append(getattr(handle, "_callback", None))
            for each in handlers:
                code = getattr(each, "__code__", None)
                if code is not None and stacks.is_own(code.co_filename):
                    at = code.co_filename, code.co_firstlineno, stacks.name_of(each)
                    found[name] = at
        return found

    def lines(self, frames: list[Any]) -> list[Any]:
        """Return the author's lines among frames, or else the innermost one, with whose it is."""
        own = stacks.own_lines(frames)
        return [[*each, bool(own)] for each in own[-MOST:] or [*map(stacks.line, frames[-1:])]]

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

    def where(self, call: hooks.Lifespan) -> dict[str, Any]:
        """Return where a call with the lifespan scope is."""
        coroutine = call.coroutine()
        is_over = getattr(coroutine, "cr_frame", None) is None
        runs = bool(getattr(coroutine, "cr_running", False))
        lines = self.lines(waits.of(coroutine).frames) if not is_over and not runs else []
        return {"over": is_over, "runs": runs, "asks": call.is_in_receive(), "lines": lines}

    def look_at_tasks(self, loops: dict[Any, Any], now: float) -> None:
        """Note the tasks that are new, those that have died, and the requests that are open."""
        found: dict[int, list[Any]] = {}
        others = []
        tasks = [each for loop, top in loops.items() for each in alive.tasks(loop, top)]
        for each in [*tasks, *alive.failed_tasks()]:
            self.known.setdefault(each, now)
        for task, since in [*self.known.items()]:
            if getattr(task, "_log_traceback", False) and now - since >= REST:
                self.note_failed(task)
        if not self.is_lively():
            return
        tasks.sort(key=self.known.__getitem__)
        calls = [(waits.of(each).frames, self.known[each]) for each in tasks[:COUNTED]]
        untracked = untracked_calls() if self.is_stopping else []  # it looks at every object
        calls += [(stacks.awaited(each), None) for each in untracked]
        for frames, since in calls:
            given = stacks.arguments(frames)
            scope = given.get("scope")
            if scope is not None and scope["type"] == "lifespan":
                asks = stacks.runs(frames, given.get("receive"))
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

    def note_failed(self, task: Any) -> None:
        """Note a task whose exception nobody has asked for."""
        if id(task) not in self.failed:
            self.failed.add(id(task))
            name, error = stacks.name_of(task.get_coro()), task._exception  # noqa: SLF001
            self.note("died", task=name, error=self.error(error))

    def error(self, error: Any) -> Any:
        """Return an exception as data: of a group the first, with a line of the author."""
        errors = [*stacks.chain(error)]
        if not errors:
            return None
        cancelled = hooks.is_cancelled()
        found = (stacks.origin(each, cancelled=cancelled) for each in errors)
        lines = [[*line, True] for line in found if line][:1]
        kind, text = type(errors[0]).__name__, stacks.text_of(errors[0])
        chain = [[*stacks.raised(each)] for each in errors[:MOST]]
        return {"type": kind, "text": text, "lines": lines, "outside": cancelled, "chain": chain}


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


def begin(folder: str, own: str = "") -> Agent:
    """Begin to watch this process and those that are forked from it."""
    agent = Agent(folder, own)
    hooks.install(agent)

    def start() -> None:
        start_new_thread(agent.run, ())

    def forked() -> None:
        agent.begin()
        start()

    start()
    os.register_at_fork(after_in_child=forked)
    return agent
