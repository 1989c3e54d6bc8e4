"""The looker inside of a watched process: it writes down what the process does while nothing moves.

`lifespec watch` puts this and what it imports into a folder, and begins here from a
`sitecustomize`, so that workers, reloaded children and forks have it, too.  A thread looks ten
times a second while startup or shutdown lasts, and else once a second.  Each process has a file,
with a line of `seen` for each event and for each look that differs from the one before; its time of
modification says when the thread last ran.  Self-contained, for Python 3.9 and newer.

What goes wrong here is nobody's trouble but ours: it is written down, and the server goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import sys
import time
import weakref
from _thread import get_ident, start_new_thread
from os import utime
from time import monotonic, sleep  # as they are before gevent, say, replaces them
from types import ModuleType

from ..diagnosis import alive, guard, stacks, waits, whose
from . import hooks, looks, seen

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any, NoReturn

LIVELY = 0.1  # seconds between two looks while startup or shutdown may last
REST = 1.0  # the same while a server serves
SOON = 5.0  # seconds in which a process is looked at often, whatever it does
LASTS = 1.0  # seconds from which on one thing that an event loop runs is looked at closely
_CLOSES = "shutdown_default_executor"  # what asyncio.run calls last
MOST_TASKS = 200  # tasks whose calls are looked at, the oldest first
FEW_TASKS = 20  # tasks that cost little: they are looked at each time
SERVERS = {module.partition(".")[0] for module in hooks.SERVERS}  # their packages
RUNS = seen.CallState(over=False, runs=True, asks=False, lines=[])

# kept: what forbids blocking calls in an event loop, such as blockbuster, replaces these later
_os_open, _os_write, _os_close = os.open, os.write, os.close


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
        self.lifespans: list[hooks.FollowedCall] = []
        self.others: list[seen.CallState] = []  # calls that no hook has told
        self.loops: dict[Any, int] = {}  # those of servers, and their threads
        self.copies: dict[Any, hooks.Notes] = {}  # classes that are lifespec's, in another module
        self.modules: set[str] = set()  # that were searched for them
        self.tasks_since: Any = weakref.WeakKeyDictionary()  # tasks, and when they were seen first
        self.died: Any = weakref.WeakSet()  # tasks that were noted
        self.failed: list[Any] = []  # references to those that had when shutdown was sent
        self.busy = looks.Busy()
        self.looks_by_scope: dict[int, waits.Looks] = {}  # at them
        self.had_other = False
        self.requests: list[seen.Request] = []
        self.open = 0
        self.has_all = True
        self.began = monotonic()
        self.counted = 0.0  # when tasks were looked at
        self.before: Any = None
        self.main: tuple[Any, float] = (None, 0.0)  # where the main thread is, and since when
        self.is_stopping = self.had_loop = self.has_listened = False
        self.note("Began", ".".join(map(str, sys.version_info[:2])))

    def run(self) -> None:
        """Look, for as long as this process lives and somebody reads."""
        while self.is_watched():
            sleep(LIVELY if self.is_lively() else REST)
            with guard.keeping():
                self.look(monotonic())
            for failure in guard.take():
                self.note("Failed", tuple(failure))
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
        if self.is_stopping:
            return True
        if monotonic() - self.began < SOON:
            return True
        for known in self.lifespans:
            if not known.is_answered:
                return True
        for call in self.others:  # of a server that nobody knows: it serves once it asks
            if not call.asks:
                return True
        return False

    def note(self, name: str, *values: Any, at: float = 0.0) -> None:
        """Write a line of what has happened; a full disk is no reason to stop a server."""
        with contextlib.suppress(Exception):
            self.write(seen.LINE_KINDS[name](at or time.time(), *values))

    def write(self, line: Any) -> None:
        """Write a line."""
        file = _os_open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _os_write(file, seen.written(line).encode())
        finally:
            _os_close(file)

    # ---- what is seen ----

    def look(self, now: float) -> None:
        """Write down what the process does, if it is something else than before."""
        if os.path.exists(os.path.join(self.folder, "stop")):
            self.is_stopping = True
        self.find_served()
        self.find_copies()
        frames = stacks.top_frames()
        frames.pop(get_ident(), None)
        loops = self.running_loops(frames)
        if loops or self.loops:  # one may begin and end between two looks: a hook tells of it
            self.had_loop = True
        rest = REST
        if self.is_lively() and len(self.tasks_since) < FEW_TASKS:
            rest = 0.0
        if now - self.counted >= rest:
            self.counted = now
            self.look_at_tasks(loops, frames, now)
        if self.is_lively() or self.is_to_serve():
            look = self.what_it_does(frames, loops, now)
            if look != self.before:
                self.before = look
                self.write(look._replace(time=time.time()))

    def find_served(self) -> None:
        """Find the package that is served, once it is imported."""
        module = sys.modules.get(self.own)
        file = getattr(module, "__file__", None)
        if file:
            whose.treat_as_own(file, is_package=hasattr(module, "__path__"))

    def find_copies(self) -> None:
        """Find copies of lifespec's class in the modules that are imported since the last look."""
        for name, module in sys.modules.copy().items():  # other threads import meanwhile
            if name in self.modules:
                continue
            if type(module) is not ModuleType:  # to look at another may run code of its own
                continue
            if getattr(vars(module).get("__spec__"), "_initializing", False):
                continue  # its class may not be there yet
            self.modules.add(name)
            hooks.hook_copies(module, self)

    def running_loops(self, frames: dict[int, Any]) -> dict[Any, Any]:
        """Return the event loops that run, each with the innermost frame of its thread.

        Not one that only waits for its threads: it serves nothing any more.
        """
        running = alive.loops(frames)
        for loop, thread in list(self.loops.items()):  # the server's thread adds to it
            if thread in frames and alive.is_running(loop, frames[thread]):
                running[loop] = frames[thread]
        for loop, top in list(running.items()):
            names = [stacks.name_of(stacks.coroutine_of(task)) for task in alive.tasks(loop, top)]
            if any(name.endswith(_CLOSES) for name in names):
                del running[loop]
        return running

    def what_it_does(self, frames: dict[int, Any], loops: dict[Any, Any], now: float) -> Any:
        """Return what this process does, as a Look whose time is left open."""
        main = stacks.of_thread(frames.get(self.thread))
        if not self.has_called:
            main = looks.with_awaited(main)
        where = looks.lines_of(main)
        unserved = self.unserved_lines(main, where)
        if unserved:
            where = unserved
        if where != self.main[0]:
            self.main = where, now
        importing = ""
        if not loops:
            importing = looks.importing(main)
        threads, children = self.keepers(frames, loops)
        return seen.Look(
            time=0.0,
            loops=len(loops),
            blocked=self.blocked(frames, loops, now),
            known=[self.where(call) for call in self.lifespans],
            others=self.others,
            handlers=looks.handlers_of_author(loops),
            requests=self.requests,
            open=self.open,
            all=self.has_all,
            importing=importing,
            main=where,
            still=int(now - self.main[1]),
            threads=threads,
            children=children,
            unserved=bool(unserved),
        )

    def blocked(self, frames: dict[int, Any], loops: dict[Any, Any], now: float) -> list[Any]:
        """Return the event loops that run one thing, whether for long or not."""
        blocked = []
        for loop, top in loops.items():
            seconds = self.busy.seconds(loop, looks.thread_of(top, frames), now)
            if seconds is None:
                continue
            running = stacks.of_thread(top)
            if seconds >= LASTS:
                self.learn(running)
            kind = waits.blocked_by(map(stacks.line, running))
            blocked.append(seen.Blocked(int(seconds), looks.lines_of(running), kind))
        return blocked

    def unserved_lines(self, main: list[Any], where: list[Any]) -> list[Any]:
        """Return the author's lines of the main thread, if no server has begun to serve, else [].

        Of a command that was installed they are those of its package.
        """
        if not self.is_to_serve():
            return []
        if seen.is_own(where):
            return where
        of_command = looks.of_command(main, SERVERS)
        return looks.with_whose([stacks.line(frame) for frame in of_command])

    def is_to_serve(self) -> bool:
        """Tell whether a server is imported that has not begun: neither here, nor in a child."""
        if self.has_called or self.has_listened:
            return False
        if set(hooks.SERVERS).isdisjoint(sys.modules):
            return False
        self.has_listened = looks.listens()
        if self.has_listened:
            return False
        return not alive.children(self.pid)

    def learn(self, running: list[Any]) -> None:
        """Learn whose code it is from the frames of a thread that runs a lifespan, and stays there.

        An installed application may block its event loop before it has ever waited for anything.
        """
        for call in self.lifespans:
            frame = getattr(call.coroutine(), "cr_frame", None)
            if frame in running:
                whose.learn(running[running.index(frame) :])

    def keepers(self, frames: dict[int, Any], loops: dict[Any, Any]) -> tuple[Any, list[str]]:
        """Return what keeps this process once no event loop of it runs any more."""
        if loops or not self.had_loop:
            return None, []
        threads = []
        for thread in alive.threads():
            if thread.ident == self.thread:  # the main one is a value of its own
                continue
            if alive.keeps_process(thread):
                where = looks.lines_of(stacks.of_thread(frames.get(thread.ident)))
                threads.append(seen.Thread(alive.thread_name(thread), where))
        return threads, sorted(alive.children(self.pid).values())

    @property
    def has_called(self) -> bool:
        """Whether the application was called with the lifespan scope."""
        return bool(self.lifespans or self.had_other)

    def where(self, call: hooks.FollowedCall) -> seen.CallState:
        """Return where a call with the lifespan scope is."""
        coroutine = call.coroutine()
        if getattr(coroutine, "cr_frame", None) is None:
            return seen.CallState(over=True, runs=False, asks=False, lines=[])
        if getattr(coroutine, "cr_running", False):
            return RUNS
        if call.looks is None:
            call.looks = waits.Looks()
        return looks.where_it_waits(call.looks, coroutine, call.thread, asks=call.is_in_receive())

    def look_at_tasks(self, loops: dict[Any, Any], frames: dict[int, Any], now: float) -> None:
        """Note the tasks that are new, those that have died, and the requests that are open."""
        threads = {}
        for loop, top in loops.items():
            for task in alive.tasks(loop, top):
                threads[task] = looks.thread_of(top, frames)
        for task in threads:
            self.tasks_since.setdefault(task, now)
        for task in alive.failed_tasks():  # no loop has these any more
            self.tasks_since.setdefault(task, now)
        for task, since in list(self.tasks_since.items()):  # tasks end meanwhile
            if looks.has_failed(task) and now - since >= REST:
                self.note_died(task, time.time())
        if self.is_lively():
            self.look_at_calls(threads, frames, now)

    def look_at_calls(self, threads: dict[Any, int], frames: dict[int, Any], now: float) -> None:
        """Find the calls of applications among tasks, with their threads, and among frames."""
        requests: dict[int, seen.Request] = {}
        others: dict[int, seen.CallState] = {}
        for thread, top in frames.items():
            running = stacks.of_thread(top)
            scope = stacks.arguments(running).get("scope")
            if scope is None or scope["type"] != "lifespan":
                continue
            if not self.recognise(running, thread):  # it runs just now, and so is in no task yet
                others[id(scope)] = RUNS
        tasks = sorted(threads, key=self.tasks_since.__getitem__)
        for task in tasks[:MOST_TASKS]:
            age = int(now - self.tasks_since[task])
            self.take_call(task, threads[task], age, requests, others)
        if self.is_stopping:
            for call in looks.untracked_calls():  # it looks at every object
                self.take_call(call, 0, None, requests, others)
        self.looks_by_scope = {
            scope: of_call for scope, of_call in self.looks_by_scope.items() if scope in others
        }
        self.requests = sorted(requests.values(), key=looks.by_age)[: looks.MOST_WRITTEN]
        self.open, self.has_all = len(requests), len(tasks) <= MOST_TASKS
        self.others = []
        if not self.lifespans:  # else hooks tell of them, and more
            self.others = list(others.values())
        if others:
            self.had_other = True

    def take_call(
        self,
        task: Any,
        thread: int,
        age: int | None,
        requests: dict[int, Any],
        others: dict[int, Any],
    ) -> None:
        """Take in what a task does, if it is a call of an application: each by its scope."""
        wait = waits.of(task)
        given = stacks.arguments(wait.frames)
        scope = given.get("scope")
        if scope is None:
            return
        if scope["type"] != "lifespan":
            method = str(scope.get("method", scope["type"]))  # a WebSocket has none
            path = str(scope.get("path", ""))
            is_background = looks.follows_a_response(wait.frames)
            in_thread = wait.awaits == "thread"
            request = seen.Request(
                method, path, age, looks.lines_of(wait.frames), is_background, in_thread
            )
            requests.setdefault(id(scope), request)
        elif id(scope) not in others and not self.recognise(wait.frames, thread):
            asks = stacks.runs(wait.frames, given.get("receive"))
            of_call = self.looks_by_scope.setdefault(id(scope), waits.Looks())
            others[id(scope)] = looks.where_it_waits(of_call, task, thread, asks=asks)

    def recognise(self, frames: list[Any], thread: int) -> bool:
        """Tell whether a call is one of a known server; a copy of lifespec's class is one."""
        copy = hooks.recognised(frames)
        if copy is None:
            return False
        kind, this = copy
        hooks.hook_copies(sys.modules.get(kind.__module__, sys), self)
        is_known = any(call.own() is this for call in self.lifespans)
        if kind in self.copies and not is_known:
            hooks.follow(self.copies[kind], this, thread)
        return True

    def keep_failed(self) -> None:
        """Keep which tasks have failed: the server sends shutdown, and may end before a look."""
        self.failed, self.shutdown_at = looks.failed(self.tasks_since), time.time()

    def note_failed(self) -> None:
        """Note those of them whose exception nobody has asked for: the application has answered."""
        for reference in self.failed:
            task = reference()
            if looks.has_failed(task):
                self.note_died(task, self.shutdown_at)
        self.failed = []

    def note_died(self, task: Any, at: float) -> None:
        """Note a task whose exception nobody has asked for until a time."""
        if task not in self.died:
            self.died.add(task)
            name, error = stacks.name_of(task.get_coro()), task._exception  # noqa: SLF001
            self.note("Died", name, self.error(error), at=at)

    def error(self, error: Any) -> Any:
        """Return an exception as data: of a group the first, with a line of the author."""
        errors = list(stacks.chain(error))
        if not errors:
            return None
        cancelled = hooks.is_cancelled()
        where = []
        for raised in hooks.since_interrupt(errors, is_stopping=self.is_stopping):
            line = stacks.origin(raised, cancelled=cancelled)
            if line:
                where.append(seen.At(*line, True))
                break
        kind, text = type(errors[0]).__name__, stacks.text_of(errors[0])
        chain = [tuple(stacks.raised(raised)) for raised in errors[: looks.MOST_WRITTEN]]
        return seen.WrittenError(kind, text, where, cancelled, chain, hooks.loop_ends())


def begin(folder: str, own: str = "") -> Agent:
    """Begin to watch this process and those that are forked from it."""
    agent = Agent(folder, own)
    hooks.install(agent)
    leave = os._exit

    def start() -> None:
        start_new_thread(agent.run, ())

    def forked() -> None:
        agent.begin()
        start()

    def leaves(status: int) -> NoReturn:
        by = sys._getframe(1)  # noqa: SLF001
        if agent.has_called:
            with guard.keeping():
                frames = stacks.of_thread(by)
                if looks.is_of_application(frames):  # servers end so, too
                    agent.note("Left", status, looks.lines_of(frames))
        leave(status)

    start()
    os._exit = leaves  # nothing else tells that a process ends so
    atexit.register(agent.note, "Ending")  # the first to be registered runs as the last
    os.register_at_fork(after_in_child=forked)
    return agent
