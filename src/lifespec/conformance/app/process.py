"""Processes: one that imports the target, and from it one for each case.

So no case spoils the next, and nothing that a target does to its process does harm here.  A case is
ended when its time is over, wherever it is: faulthandler writes down where, from a thread of its
own, which also sees into a loop that is blocked by C code.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import linecache
import multiprocessing
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from functools import partial
from itertools import takewhile
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lifespec.conformance import cases
from lifespec.conformance.app import given, middleware, target
from lifespec.conformance.app.play import Seen, play
from lifespec.conformance.report import Fact, fact
from lifespec.testing import left, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Host", "Job", "Played", "main", "play_all"]

BLOCKED = 0.5  # seconds beyond its time after which a loop that is blocked is ended
ENDING = 1.0  # seconds that a process has to end once all is seen
POLL = 0.05
TICK = 1.0
SPARE = 10.0  # seconds for a process beside the limits of what it does
_STACKS = re.compile(r"\(most recent call first\):\n")  # of faulthandler
_LOOPS = str(Path(asyncio.__file__).parent), selectors.__file__  # where an event loop waits
_FRAME = re.compile(r'File "(.*)", line (\d+) in (.*)')


class Job(NamedTuple):
    """What is checked: a name or an object, by a specification, with a limit in seconds.

    `looked` are the cases in which causes are looked for.
    """

    role: str
    subject: Any
    spec: str
    factory: bool = False
    limit: float = 30.0
    looked: tuple[str, ...] = ()
    trio: bool = False

    @property
    def own(self) -> str:
        """The package that is checked."""
        name = self.subject if isinstance(self.subject, str) else ""
        return name.partition(":")[0].partition(".")[0]

    def find(self) -> Any:
        """Return the subject; raise target.NotFound where it cannot be had."""
        if isinstance(self.subject, str):
            return target.find(self.subject, factory=self.factory)
        return self.subject


class Played(NamedTuple):
    """What came of a case: its name, what was seen in its last call, and how long it took."""

    case: str
    seen: Seen
    seconds: float


class Host:
    """A new interpreter that imports the target once, and starts a process for each case.

    As a context manager it ends all that it has started.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.stack = tempfile.NamedTemporaryFile("r", prefix="lifespec-", encoding="utf-8")  # noqa: SIM115
        here, there = multiprocessing.Pipe()
        program = f"from {__name__} import main; main({there.fileno()})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[there.fileno()],
        )
        there.close()
        self.connection = here

    def __enter__(self) -> Self:
        self.connection.send((self.job, sys.path, self.stack.name))
        if why := self._obstacle():
            self.__exit__()
            raise target.NotFound(why)
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING)
        _kill(self.process.pid)
        self.process.wait()
        self.stack.close()

    def _obstacle(self) -> Fact | None:
        """Wait for the import; return why the target cannot be had, or None."""
        with contextlib.suppress(EOFError, ConnectionError):
            found: Fact | None = self.connection.recv()
            return found
        stack = self.stack.read()
        if not stack:
            self.process.wait(ENDING)
            return fact("import-ended", how=_how(self.process.returncode))
        where = _own(_frames(stack), self.job.own)
        what = fact("import-hangs", limit=self.job.limit)
        return (
            fact("at-place", what=what, place=fact("place", **_short(where[-1])._asdict()))
            if where
            else what
        )

    def play(
        self,
        names: Sequence[str],
        at_once: int,
        *,
        trio: bool = False,
        tick: Callable[[str, float], object] = lambda *_: None,
    ) -> Iterator[Played]:
        """Play cases, so many side by side, and yield each when it is over.

        `tick` is called each second with the name of a case and how long that has been played.
        """
        self.connection.send((names, at_once, trio))
        waiting, began = [*names], time.monotonic()
        while waiting:
            if self.connection.poll(TICK):
                played: Played = self.connection.recv()
                waiting.remove(played.case)
                yield played
            else:
                tick(waiting[0], time.monotonic() - began)


def main(number: int) -> None:
    """Be the host: find the target, and play cases until nobody asks for more."""
    connection = Connection(number)
    os.set_inheritable(number, False)  # noqa: FBT003
    job, sys.path[:], stack = connection.recv()
    sys.path.insert(0, "")
    before = _open_files()
    with Path(stack).open("w", encoding="utf-8") as file:
        faulthandler.dump_traceback_later(job.limit, exit=True, file=file)
        why = None
        try:
            subject = job.find()
            if job.role == "application":
                target.check_signature(subject)
        except target.NotFound as error:
            why = error.fact
        faulthandler.cancel_dump_traceback_later()
    connection.send(why)
    way = "spawn" if _cannot_fork(before) else "fork"
    with contextlib.suppress(EOFError, ConnectionError):
        while not why:
            names, at_once, trio = connection.recv()
            for played in play_all(job._replace(trio=trio), names, at_once, way, connection):
                connection.send(played)


def _open_files() -> set[str]:
    return {*os.listdir("/dev/fd")} if Path("/dev/fd").is_dir() else set()  # noqa: PTH208


def _cannot_fork(before: set[str]) -> bool:
    """Tell whether a forked process would lack a thread, or share a file with the others."""
    tasks = Path("/proc/self/task")
    alone = threading.active_count() == 1 and (not tasks.is_dir() or len([*tasks.iterdir()]) == 1)
    return not alone or len(_open_files()) > len(before)


def play_all(
    job: Job, names: Sequence[str], at_once: int, way: str = "fork", parent: Any = None
) -> Iterator[Played]:
    """Play cases, so many side by side, each in a process of its own; yield each when it is over.

    Ends all that runs when the parent has gone.
    """
    waiting, running = deque(names), list[_Process]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_Process(job, waiting.popleft(), way))
            ready = wait([*(each.pipe for each in running), *([parent] if parent else [])], POLL)
            if parent in ready:  # it says nothing meanwhile: it has gone
                raise EOFError
            for each in [each for each in running if each.is_over()]:
                running.remove(each)
                yield each.played()
    finally:
        for each in running:
            each.end()


class _Process:
    """The process of a case, as seen from the one that has started it."""

    def __init__(self, job: Job, name: str, way: str) -> None:
        self.job, self.name = job, name
        self.seen, self.complete = Seen(), False
        self.stack = tempfile.NamedTemporaryFile("r", prefix="lifespec-", encoding="utf-8")  # noqa: SIM115
        context: Any = multiprocessing.get_context(way)
        self.pipe, there = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(job, name, there, self.stack.name))
        self.began = time.monotonic()
        self.deadline = self.began + job.limit * 3 + SPARE
        with warnings.catch_warnings():  # of Python 3.12, of threads beside a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        there.close()

    def is_over(self) -> bool:
        """Take in what there is to read; return whether the process is over, or late."""
        ended = self.process.exitcode is not None
        with contextlib.suppress(EOFError, ConnectionError):
            while self.pipe.poll():
                complete, self.seen = self.pipe.recv()
                if complete and not self.complete:
                    self.complete = True
                    self.seconds = time.monotonic() - self.began
                    ending = ENDING if self.seen.behind else SPARE
                    self.deadline = min(self.deadline, time.monotonic() + ending)
        return ended or time.monotonic() > self.deadline

    def played(self) -> Played:
        """End the process, and return what was seen."""
        seen, code = self.seen, self.process.exitcode
        seen.lingers = self.complete and code is None
        if not self.complete:
            self.seconds = time.monotonic() - self.began
            self._interrupted(seen, code)
        self.end()
        return Played(self.name, seen, self.seconds)

    def _interrupted(self, seen: Seen, code: int | None) -> None:
        """Note how a process ended that had not come to the end of its script."""
        stack = self.stack.read()
        if stack or code is None:
            frames = _frames(stack)
            own = _own(frames, self.job.own)
            seen.stack = tuple(map(_short, own))
            seen.sources = {_short(each): _source(each) for each in own}
            seen.doing = "starved" if stack and not frames else "blocked"
            seen.waited = "shutdown" if seen.asked else "serving" if seen.startup else "startup"
            how = "hung"
        else:
            seen.exited, how = _how(code), "exited"
            seen.ended = seen.ended or "exited"
        if not seen.startup:
            seen.startup = how
        elif seen.startup == "complete" and not seen.shutdown:
            seen.shutdown = how if seen.asked else f"{how} early"

    def end(self) -> None:
        """End the process and what it has started."""
        _kill(self.process.pid)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.stack.close()


def _kill(pid: int) -> None:
    """End the processes of a session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _how(code: int) -> str:
    """Return how a process ended: its status, or the signal."""
    return f"status {code}" if code >= 0 else signal.Signals(-code).name


def _frames(text: str) -> list[places.Place]:
    """Return the frames below ours, of what faulthandler wrote of the main thread, outermost first.

    Those of an event loop that waits are left out: where there is no other, nothing blocks it, and
    the machine gave the process too little time.
    """
    main = _STACKS.split(text)[-1].partition("\n\n")[0]
    found = [places.Place(name, file, int(line)) for file, line, name in _FRAME.findall(main)]
    inner = takewhile(lambda each: not places.is_ours(each.file), found)
    return [each for each in inner if not each.file.startswith(_LOOPS)][::-1]


def _own(frames: list[places.Place], own: str) -> list[places.Place]:
    """Return those of the author's code."""
    return [each for each in frames if _is_own(each, own)]


def _is_own(place: places.Place, own: str) -> bool:
    package = sys.modules.get(own)
    folder = os.path.dirname(getattr(package, "__file__", None) or "")  # noqa: PTH120
    return places.is_own_file(place.file) or bool(own and folder and place.file.startswith(folder))


def _short(place: places.Place) -> places.Place:
    return place._replace(file=places.short(Path(place.file)))


def _source(place: places.Place) -> str:
    return linecache.getline(place.file, place.line).strip()


# ---- in the process of a case ------------------------------------------------------------------


def _work(job: Job, name: str, pipe: Connection, stack: str) -> None:
    """Play a case, and send what was seen whenever there is more."""
    with contextlib.suppress(PermissionError):
        os.setsid()
    with Path(os.devnull).open("w") as nowhere:  # the report is not to be mixed with its output
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    pid = os.getpid()
    case = next(each for each in cases.load() if each.name == name)

    def tell(seen: Seen, *, complete: bool = False) -> None:
        if os.getpid() == pid:  # the application may have forked it
            with contextlib.suppress(OSError):  # or closed what it did not open
                pipe.send((complete, seen))

    with Path(stack).open("w", encoding="utf-8") as file:

        def arm(seconds: float) -> None:
            faulthandler.dump_traceback_later(seconds + BLOCKED, exit=True, file=file)

        arm(job.limit)
        try:
            seen = _seen(job, case, tell, arm)
        except target.NotFound as error:  # of middleware that does not take an application
            seen = Seen(obstacle=error.fact)
        faulthandler.cancel_dump_traceback_later()
        if job.trio and not seen.ended:
            tell(seen, complete=True)
            os._exit(0)
    tell(seen, complete=True)


def _seen(job: Job, case: cases.Case, tell: Any, arm: Callable[[float], object]) -> Seen:
    """Play a case and look around; return what was seen."""
    options = {"own": job.own, "trio": job.trio, "tell": tell, "arm": arm}
    if case.role == "middleware":
        return middleware.play(job.find(), case, job.spec, job.limit, **options)
    app, looks, before = job.find(), case.name in job.looked, {*threading.enumerate()}
    lifespans = given.find(job.own) if looks else []
    arm(job.limit)  # without the import
    run = partial(play, app, case, job.spec, job.limit, **options)
    with left.logging_errors(job.own) as logged:
        if looks:
            with given.running(job.own) as ran:
                calls = run()
        else:
            ran, calls = set(), run()
        seen = calls[-1].seen
        gc.collect()  # so that asyncio logs exceptions that were never retrieved
        seen.logged = [*logged]
    seen.sources = {each: _source(each) for each in seen.stack}
    seen.framework = _framework(seen.actor, job.own)
    seen.cost = sum(os.times()[:2])
    if looks:
        facts = [*given.unrun(lifespans, ran)]
        seen.given = [each for each in facts if each.kind == "given-no-lifespan"]
        seen.unrun = [each for each in facts if each.kind != "given-no-lifespan"]
    arm(job.limit)
    seen.behind += left.threads(before, job.own) + left.processes(os.getpid())
    return seen


def _framework(module: str, own: str) -> str:
    """Return the name of the installed package that an application's module belongs to, or ""."""
    package = module.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return package.capitalize() if "-packages" in file and package != own else ""
