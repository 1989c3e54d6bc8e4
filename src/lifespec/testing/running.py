"""An application that is started for a test, and what is found about it when it has stopped."""

import asyncio
import gc
import os
import threading
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import Context, ContextVar
from types import TracebackType
from typing import Any, NoReturn, Self

from lifespec.catalog import columns, language, translator
from lifespec.composition import lifespan_class
from lifespec.diagnosis import advice, busy, leftovers, silenced
from lifespec.diagnosis.author import described, innermost, own_failures, place, without_lifespec
from lifespec.diagnosis.course import FAILED, Course
from lifespec.diagnosis.exits import ProcessEnded, noting_exits
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.guard import keeping, listed, take
from lifespec.diagnosis.logged import logging_errors
from lifespec.diagnosis.stacks import line, runs, trace_of
from lifespec.diagnosis.waits import Looks, kind_of
from lifespec.server import (
    Lifespan,
    LifespanFailed,
    ShutdownFailed,
    StartupFailed,
)
from lifespec.testing.trace import Conversation, Entry, record, recorded_receive, sequence
from lifespec.validate import Violation, validator

Application = Callable[[Any, Any, Any], Awaitable[object]]

# A test has tasks, threads and processes of its own.  What an application starts has a copy of the
# context in which it runs, and so the value of this variable, wherever it is started.
_OWNER: ContextVar[object] = ContextVar("lifespec.testing: the application that a task belongs to")


class LifespanWarning(UserWarning):
    """A warning of the validator, what the application left behind, or an error that it logged."""


class ViolationsFound(AssertionError):
    """The application or its client broke rules; `violations` lists them."""

    def __init__(self, sentence: str, violations: Sequence[Violation]) -> None:
        super().__init__(sentence)
        self.violations = tuple(violations)


class Running:
    """Start an application, run the body of `async with`, stop the application, and check both.

    Give requests to `app`: each gets a shallow copy of `state`, the live state.  `lifespan` is
    the `Lifespan` that runs the application, on asyncio or on trio.  `options` are the arguments
    of `Lifespan`, but `strict` is True by default.

    Raises `ViolationsFound` after the application has stopped, if a rule was broken.  If the body
    raised, its exception gets a note instead.  Issues a `LifespanWarning` for each warning of the
    validator, for each task, thread and process that the application left behind, for each task
    that failed and each error that it logged, and each handler of a signal that it put in the place
    of a server's.
    """

    lifespan: Lifespan

    def __init__(self, app: Application, **options: Any) -> None:
        self._validator = validator(app)
        self._recorder = record(self._validator)
        self._call = _Call(self._recorder)
        self._looks = Looks()
        self._slept: list[Fact] = []  # waits that were over, and whose loop slept on
        self._exits: list[Fact] = []  # calls of os._exit
        self._left: list[str] = []  # what is to be told once it has stopped
        self._options: dict[str, Any] = {"strict": True, **options}
        Lifespan(app, **self._options)  # invalid arguments raise here

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._validator.app!r}>"

    @property
    def state(self) -> Any:
        """The live state; None if the scope has none."""
        return self.lifespan.state

    @property
    def conversations(self) -> Sequence[Conversation]:
        """The message sequences so far, as `record` keeps them."""
        return self._recorder.conversations

    @property
    def violations(self) -> Sequence[Violation]:
        """The rules that were broken so far."""
        return self._validator.violations

    async def app(self, scope: Mapping[str, Any], receive: Any, send: Any) -> object:
        """Call the application with a request; its scope gets a shallow copy of the state."""
        token = _OWNER.set(self)
        try:
            return await self.lifespan.app(scope, receive, send)
        finally:
            _OWNER.reset(token)

    def _runs_here(self) -> bool:
        """Tell whether what runs now belongs to the application: a test starts processes, too."""
        return _OWNER.get(None) is self

    def _note_exit(self, at: Place | None, status: int) -> NoReturn:
        """Let a call of os._exit raise: it would end the tests, with whatever status it has."""
        ended = ProcessEnded(f"os._exit({status})")
        with keeping():
            self._exits.append(described(ended)._replace(place=at).fact())
        raise ended

    async def __aenter__(self) -> Self:
        __tracebackhide__ = True
        # here, not before: only where a loop runs it is known whether that is asyncio's or trio's
        self.lifespan = lifespan_class()(self._call, **self._options)
        token = _OWNER.set(self)  # the application's context is a copy of this one
        self._threads = set(threading.enumerate())
        self._ended = ExitStack()
        self._logged = self._ended.enter_context(logging_errors())
        self._disabled = self._ended.enter_context(silenced.noting_disabled_loggers())
        self._ended.enter_context(leftovers.noting_starts(self._runs_here))
        self._ended.enter_context(noting_exits(self._note_exit))
        self._tasks = self._ended.enter_context(_noting_tasks(self))
        handlers = leftovers.handlers()  # of this process, before the application can set its own
        try:
            with self._looking():
                await self.lifespan.__aenter__()
        except StartupFailed as failure:
            self._ended.close()
            raise self._explained(failure) from failure.__cause__
        except BaseException:  # such as the cancellation of the test
            self._ended.close()
            raise
        finally:
            _OWNER.reset(token)
        # now: at its shutdown the application may put back those that were there before
        self._taken = listed(leftovers.taken, handlers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        failure: ShutdownFailed | None = None
        failed = listed(self._tasks.failed, "died")  # now: the clean-up may await them
        try:
            with self._looking():
                await self.lifespan.__aexit__(kind, error, traceback)
        except ShutdownFailed as raised:
            failure = raised
        finally:
            failed += listed(self._tasks.failed, "died-stopping")
            self._left = await self._leftovers(failed)
            self._ended.close()
        if failure is not None:
            raise self._explained(failure) from failure.__cause__
        if error is None:
            self._check()
        elif self.violations:  # the test has failed: why it did comes first
            error.add_note(self._summary())

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Look at the call while it is to answer, before a timer of this class wakes its loop."""
        with busy.spending(lambda: self._call.coroutine) as spending:
            self._looks = spending.looks
            yield
            at = innermost(self._looks.slept)
            if at:  # the timer of this class may have woken the loop
                self._slept.append(fact("due", place=at.fact()))

    def _check(self) -> None:
        """Raise for a broken rule, or else warn."""
        __tracebackhide__ = True
        if self._exits:  # something has swallowed what was raised in its place
            raise AssertionError("\n".join(_sentences(self._exits)))
        if self.violations:
            raise ViolationsFound(self._summary(), self.violations)
        sentences = [f"{_in_words(broken)} [{broken.rule}]" for broken in self._validator.warnings]
        sentences += self._left
        for sentence in sentences:
            warnings.warn(sentence, LifespanWarning, stacklevel=3)  # at the line of `async with`

    def _explained(self, failure: LifespanFailed) -> LifespanFailed:
        """Remove the frames of lifespec from a failure, and add its cause and a summary."""
        with keeping():
            self._explain(failure)
        for sentence in _sentences(own_failures(take())):
            failure.add_note(sentence)
        # all frames of it are lifespec's; those of the application are in its cause
        return failure.with_traceback(None)

    def _explain(self, failure: LifespanFailed) -> None:
        notes = _sentences(self._causes(failure))
        cause = failure.__cause__
        if cause is not None:
            BaseException.with_traceback(cause, without_lifespec(trace_of(cause)))
            if failure.message.startswith("Traceback"):  # Starlette's is the cause's
                last = failure.message.strip().splitlines()[-1]
                failure.args = (str(failure).partition("Traceback")[0] + last,)
        notes.append(self._summary())
        failure.add_note("\n".join(notes))

    def _summary(self) -> str:
        """Return the broken rules, a line each, what was left behind, and the message sequence."""
        lines = [f"[{broken.rule}] {_in_words(broken)}" for broken in self.violations]
        lines += self._left
        lines.append("")
        say = translator(language(os.environ))
        for conversation in self.conversations:
            lines.append(sequence(conversation.entries, "server", "application", say, columns))
        return "\n".join(lines).strip("\n")

    def _causes(self, failure: LifespanFailed) -> Iterator[Fact]:
        """Yield why it failed, and what to change."""
        cause = failure.__cause__
        if cause is None:
            cause = self.conversations[-1].caught
        error = None
        if cause is not None:
            error = described(cause)
        phase = "shutdown"
        if isinstance(failure, StartupFailed):
            phase = "startup"
        if isinstance(failure, TimeoutError):  # its cause is the cancellation, which says no more
            doing = _doing(cause, self._looks)
            yield doing
            change = advice.on(doing, phase)
        else:
            if error:
                yield error.fact()
            if isinstance(cause, ProcessEnded):
                return
            change = self._advice(error, phase)
        if change:
            yield change

    def _advice(self, error: Error | None, phase: str) -> Fact | None:
        """Return what to change: by what was raised, or else by how the lifespan ended."""
        if error:
            of_error = advice.on_error(error)
            if of_error:
                return of_error
        end = _end(self.conversations[-1].entries)
        if end in FAILED:  # the application itself says why
            return None
        return advice.on(Fact(end), phase, error=error)

    async def _leftovers(self, failed: Sequence[Fact]) -> list[str]:
        """Name what the application left behind, the errors it logged, and signals it took."""
        left: list[Fact] = []
        with keeping(), suppress(RuntimeError):  # trio's nurseries leave none
            left += await self._tasks.left()
        left += listed(leftovers.threads_left, self._threads)
        left += listed(leftovers.processes, os.getpid(), leftovers.is_started)
        facts = [fact("left-behind", what=thing) for thing in left]
        facts += [fact("has-logged", record=record.fact()) for record in self._logged]
        facts += failed
        facts += self._taken
        facts += silenced.facts(self._disabled)
        facts += self._slept
        return _sentences(facts) + _sentences(own_failures(take()))


class _Call:
    """An application, and the call of its lifespan.

    There SystemExit is an error like others: asyncio would let it end the tests.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self.coroutine: Any = None

    def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if not isinstance(scope, Mapping) or scope.get("type") != "lifespan":
            return self.app(scope, receive, send)
        self.coroutine = self._lives(scope, receive, send)
        return self.coroutine

    async def _lives(self, scope: Any, receive: Any, send: Any) -> object:
        __tracebackhide__ = True
        try:
            return await self.app(scope, receive, send)
        except SystemExit as error:
            raise ProcessEnded(f"SystemExit({error.code!r})") from error


def _doing(cause: BaseException | None, looks: Looks) -> Fact:
    """Return what an application did when its time was over, and where.

    By how its cancellation passed, or by the look before, if the application then went on.
    """
    trace = trace_of(cause) if cause is not None else None
    walked = list(traceback.walk_tb(trace))
    frames = [frame for frame, _number in walked]
    at = place(line(frame, number) for frame, number in walked)
    if runs(frames, recorded_receive):
        return Fact("doing-idle").at(at, "doing-at")
    awaits = kind_of(frames)
    looked_at = innermost(looks.lines)
    if looks.slept:
        at, awaits = innermost(looks.slept), "due"
    elif looks.awaits in ("again", "thread") or at in (None, looked_at):
        at, awaits = looked_at, looks.awaits
    doing = Fact("doing-running")
    if awaits:
        doing = Fact(f"doing-awaits-{awaits}")
    return doing.at(at, "doing-at")


def _end(entries: Iterable[Entry]) -> str:
    """Return how a lifespan ended, as a kind of `course`; "" if it has not ended."""
    course = Course()
    for entry in entries:
        if entry.kind == "sent":
            course.happens(entry.type)
        else:
            course.happens(entry.kind)
        if entry.kind == "received" and entry.type == "lifespan.shutdown":
            course.happens("shutdown")
    return course.kinds[-1] if course.kinds else ""


def _in_words(violation: Violation) -> str:
    """Return what broke a rule, after the rule itself in another language than English.

    The validator is a file to copy, which has no catalog.
    """
    message, reader = f"{violation.message}.", language(os.environ)
    if reader == "en":
        return message
    from lifespec.words import required  # noqa: PLC0415  few tests need it

    return f"{required(violation.rule, translator(reader))} ({message})"


def _sentences(facts: Iterable[Fact]) -> list[str]:
    """Return sentences in the language of the locale, each with the command that explains it."""
    from lifespec.pages import explaining  # noqa: PLC0415  few tests need any
    from lifespec.words import Words  # noqa: PLC0415

    words = Words(language(os.environ))
    sentences = []
    for told in facts:
        explained = told
        commands = tuple(explaining([told]))
        if commands:
            explained = fact("explained", what=told, more=commands)
        sentences.append(words.say(explained))
    return sentences


@contextmanager
def _noting_tasks(owner: object) -> Iterator[leftovers.Tasks]:
    """Note the author's lines that make tasks, unless somebody else makes the tasks of the loop."""
    tasks = leftovers.Tasks(lambda task: _owner(task) is owner)
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio
        yield tasks
        return
    is_free = loop.get_task_factory() is None
    if is_free:
        loop.set_task_factory(tasks)
    try:
        yield tasks
    finally:
        if is_free and loop.get_task_factory() is tasks:
            loop.set_task_factory(None)


def _owner(task: asyncio.Task[Any]) -> object:
    """Return what a task belongs to, by the context in which it was made."""
    # a task has no method for that before Python 3.12
    contexts = [part for part in gc.get_referents(task) if isinstance(part, Context)]
    return next((context.get(_OWNER) for context in contexts), None)
