"""Processes: one that imports the target, and from it one for each case.

So no case changes what the next one finds, and the target cannot change this process.  A case is
ended when its time is over.  Then faulthandler writes its stack from a thread of its own, so that a
loop that C code blocks has one, too.
"""

import contextlib
import faulthandler
import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, Self

from lifespec.conformance import cases
from lifespec.conformance.app.forks import cannot_fork, open_files
from lifespec.conformance.app.observation import Observation, Supervisor
from lifespec.conformance.app.observe import at_import, observe
from lifespec.conformance.app.output import Output, redirect
from lifespec.conformance.app.target import Job, NotFound
from lifespec.conformance.processes import (
    TELL_EVERY,
    interpreter,
    kill_session,
    signal_name,
)
from lifespec.diagnosis import author, guard, registered, waits
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.logged import noting_warnings

BLOCKED = 0.5  # seconds beyond its time after which a loop that is blocked is ended
PROCESS_END_LIMIT = 1.0  # seconds that a process has to end once all is seen
STAYS = 4.0  # the same if its application has left something: then it may be said that it stays
LOOK_AT_PIPES = 0.05  # seconds after which the processes are looked at, too
SPARE = 10.0  # seconds for a process in addition to the limits of the case


class Result(NamedTuple):
    """What came of a case: its name, what was seen in its last call, and how long it took."""

    case: str
    seen: Observation
    seconds: float


class HostHere:
    """This process, which has the subject, and starts a process for each case."""

    def __init__(self, job: Job) -> None:
        self.job, self.name = job, job.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def find(self) -> None:
        """Do nothing: the subject is there."""

    def play(
        self,
        names: Sequence[str],
        at_once: int,
        on_wait: Callable[[str, float], object] = lambda *_: None,  # noqa: ARG002  as Host has it
    ) -> Iterator[Result]:
        """Play cases, so many side by side, and yield each when it is over."""
        yield from play_all(self.job, names, at_once)


class Host:
    """A new interpreter that imports the target once, and starts a process for each case.

    As a context manager it ends all that it has started.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.name = job.name
        self.stack = _stack_file()
        self.import_output = Output()
        self.process, ours = interpreter()
        self.connection = Connection(ours.detach())
        with contextlib.suppress(ConnectionError):  # it has ended
            self.connection.send((job, sys.path, self.stack.name, self.import_output.name))
        self.is_found = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PROCESS_END_LIMIT)
        kill_session(self.process.pid)
        self.process.wait()
        self.stack.close()
        self.import_output.close()

    def printed(self) -> tuple[str, ...]:
        """Return the last lines that the import has printed."""
        return self.import_output.last_lines()

    def obstacle(self) -> Fact | None:
        """Wait for the import; return why the target cannot be had, or None."""
        with contextlib.suppress(EOFError, ConnectionError):
            found: Fact | None = self.connection.recv()
            return found
        stack = self.stack.read()
        if not stack:
            return fact("import-ended", how=_status(self.process.wait(PROCESS_END_LIMIT)))
        place = author.place(author.dumped(stack))
        return fact("import-hangs", limit=self.job.limit).at(place)

    def find(self) -> None:
        """Wait until the target is there; raise NotFound if it cannot be had."""
        if self.is_found:
            return
        why = self.obstacle()
        if why:
            not_found = NotFound(why)
            not_found.printed = self.printed()
            raise not_found
        self.is_found = True

    def _received(self) -> Result:
        """Return the next result; raise NotFound if the host has ended."""
        try:
            result: Result = self.connection.recv()
        except (EOFError, ConnectionError):
            raise NotFound(Fact("host-ended")) from None
        return result

    def play(
        self,
        names: Sequence[str],
        at_once: int,
        on_wait: Callable[[str, float], object] = lambda *_: None,
    ) -> Iterator[Result]:
        """Play cases, so many side by side, and yield each when it is over.

        `on_wait` is called each second with the name of a case and how long that has been played.
        Raises NotFound if the target cannot be had.
        """
        self.find()
        self.connection.send((names, at_once))
        began = time.monotonic()
        waiting = list(names)
        while waiting:
            if self.connection.poll(TELL_EVERY):
                result = self._received()
                waiting.remove(result.case)
                yield result
            else:
                on_wait(waiting[0], time.monotonic() - began)


def be_host(number: int) -> None:
    """Be the host: find the target, and play cases until the connection is closed."""
    connection = Connection(number)
    os.set_inheritable(number, False)  # noqa: FBT003
    job, path, stack, output = connection.recv()
    redirect(output)
    # "" is the current folder, in which a name such as `shop.main` is looked for first
    sys.path[:] = [""]
    sys.path += path
    why = None
    before = open_files()
    cases.load()  # the processes that are forked have them
    with _dumping_stacks(stack) as arm:
        arm(job.limit)
        try:
            _import(job)
        except NotFound as error:
            why = error.fact
    connection.send(why)
    if why is None:
        play_on(job, connection, "spawn" if cannot_fork(before) else "fork")


def _import(job: Job) -> None:
    """Import the target, and find its lifespans."""
    with noting_warnings(at_import[job.name]):
        registered.remember(job.find)


def play_on(job: Job, connection: Connection, method: str) -> None:
    """Play cases as the other end wants them, until it closes the connection."""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            names, at_once = connection.recv()
            for result in play_all(job, names, at_once, method, connection):
                connection.send(result)


def play_all(
    job: Job, names: Sequence[str], at_once: int, method: str = "fork", parent: Any = None
) -> Iterator[Result]:
    """Play cases, so many side by side, each in a process of its own; yield each when it is over.

    Ends all that runs when the parent has gone.
    """
    _import(job)
    waiting = deque(names)
    running: list[_Process] = []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_Process(job, waiting.popleft(), method))
            pipes: list[Any] = [process.pipe for process in running]
            if parent:
                pipes.append(parent)
            if parent in wait(pipes, LOOK_AT_PIPES):  # it sends nothing meanwhile: it has gone
                raise EOFError
            for process in list(running):  # a copy: what is over leaves the list
                is_over = process.take_in()
                if is_over:
                    running.remove(process)
                    yield process.played()
    finally:
        for process in running:
            process.end()


class _Process:
    """The process of a case, as seen from the one that has started it."""

    def __init__(self, job: Job, name: str, method: str) -> None:
        self.name = name
        self.seen = Observation()
        self.stack = _stack_file()
        self.output = Output()
        context: Any = multiprocessing.get_context(method)
        self.pipe, other_end = context.Pipe(duplex=False)
        given_to_it = (job, name, other_end, self.stack.name, self.output.name)
        self.process = context.Process(target=_work, args=given_to_it)
        self.began = time.monotonic()
        self.deadline = self.began + job.limit * 3 + SPARE
        # what the process shares with this one is not touched by its garbage collections, which
        # would copy each page: a case would cost as much memory as the application
        gc.freeze()
        try:
            with warnings.catch_warnings():  # Python 3.12 warns of a fork with several threads
                warnings.simplefilter("ignore", DeprecationWarning)
                self.process.start()
        finally:
            gc.unfreeze()
            other_end.close()

    def take_in(self) -> bool:
        """Take in what there is to read; return whether the process is over, or late."""
        over = self.process.exitcode is not None  # before: what it wrote last is then read as well
        self.output.limit()
        with contextlib.suppress(EOFError, ConnectionError):
            while not self.seen.complete and self.pipe.poll():
                self.seen = self.pipe.recv()
                self.seconds = time.monotonic() - self.began
                if self.seen.complete:
                    ending = STAYS if self.seen.leftovers else SPARE
                    self.deadline = min(self.deadline, time.monotonic() + ending)
        return over or time.monotonic() > self.deadline

    def played(self) -> Result:
        """End the process, and return what was seen."""
        code = self.process.exitcode  # None while it runs
        if self.seen.complete:
            self.seen.process_stays = code is None
        else:
            self.seconds = time.monotonic() - self.began
            self._interrupted(code)
        self.seen.printed = self.output.last_lines()
        self.end()
        return Result(self.name, self.seen, self.seconds)

    def _interrupted(self, code: int | None) -> None:
        """Note how a process ended that had not come to the end of its script."""
        seen = self.seen
        stack = self.stack.read()
        # where faulthandler has ended the process, there is a code, too, and it says nothing
        if code is not None and not stack:
            answer = "exited"
            if not seen.exited:  # else its line is known
                seen.exited = _status(code)
            seen.ended = seen.ended or answer
        else:
            answer = "hung"
            frames = author.dumped(stack)
            seen.stack = tuple(author.places(frames))
            seen.activity = activity(stack, frames)
            if seen.shutdown_sent:
                seen.awaited = "shutdown"
            elif seen.startup.how:
                seen.awaited = "serving"
            else:
                seen.awaited = "startup"
        seen.ended_when_cancelled = bool(seen.ended) or not seen.of("cancelled")
        if seen.shutdown_sent:  # it may have been received
            seen.course.happens("shutdown")
        seen.settle(answer)

    def end(self) -> None:
        """End the process and what it has started."""
        kill_session(self.process.pid)
        self.process.kill()  # too, since it may not have come to its own session
        self.process.join()
        self.pipe.close()
        self.stack.close()
        self.output.close()


def activity(stack: str, frames: Sequence[Any]) -> str:
    """Return what the application did whose process had to be ended: a kind of waiting."""
    if stack and not frames:  # that of a thread that got no time of the processor
        return "starved"
    return waits.blocked_by(frames)


def _status(code: int) -> Fact | str:
    """Return how a process ended: its status, or the name of the signal."""
    if code < 0:
        return signal_name(-code)
    return fact("exit-status", status=code)


def _stack_file() -> Any:
    """Return a file in which faulthandler writes where a process is."""
    return tempfile.NamedTemporaryFile("r", prefix="lifespec-", encoding="utf-8")


@contextlib.contextmanager
def _dumping_stacks(stack: str) -> Iterator[Callable[[float], None]]:
    """Yield what gives this process so many seconds; then faulthandler writes down its stack."""
    with Path(stack).open("w", encoding="utf-8") as file:
        yield lambda seconds: faulthandler.dump_traceback_later(
            seconds + BLOCKED, exit=True, file=file
        )
        faulthandler.cancel_dump_traceback_later()


# ---- in the process of a case ------------------------------------------------------------------


def _work(job: Job, name: str, pipe: Connection, stack: str, output: str) -> None:
    """Play a case, and send what was seen whenever there is more."""
    # a session of its own, by which all that the application starts is ended with it
    with contextlib.suppress(PermissionError):
        os.setsid()
    redirect(output)  # the report is not to be mixed with it
    case = cases.named(name)
    os.register_at_fork(after_in_child=pipe.close)  # the application may fork this process

    sending = threading.Lock()
    published = [Observation()]

    def publish(seen: Observation) -> None:
        published.append(seen)
        del published[0]
        # a handler of a signal may end the process while it sends, in this very thread
        if not sending.acquire(timeout=PROCESS_END_LIMIT):  # pragma: no cover  only at that moment
            return
        with contextlib.suppress(OSError):  # the pipe is closed, perhaps by the application
            pipe.send(seen)
        sending.release()

    with _dumping_stacks(stack) as arm, guard.keeping():
        arm(job.limit)
        try:
            publish(observe(job, case, Supervisor(publish, arm)))
        except NotFound as error:  # of middleware that does not take an application
            publish(Observation(blocker=error.fact))
        except BaseException:
            published[0].unplayed = True
            raise
    [seen] = published
    seen.failures += author.own_failures(guard.take())
    seen.complete = True
    publish(seen)
    with contextlib.suppress(RuntimeError):  # forked in a thread of a pool, which it would join
        # else multiprocessing would first join the children of the application
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
