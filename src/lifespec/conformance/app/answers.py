"""What an application answers: each message by the tables of `lifespec.validate`."""

import difflib
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextvars import Context, ContextVar, copy_context
from types import CodeType, FrameType, ModuleType
from typing import Any

from lifespec import validate
from lifespec.conformance.app.observation import Broken, Observation
from lifespec.conformance.app.reached import Reached, is_awaited, may_answer, module_of
from lifespec.diagnosis.author import described, own_modules, place, place_of
from lifespec.diagnosis.fact import Fact, Place, fact
from lifespec.diagnosis.stacks import chain, line, outward, trace_of
from lifespec.words import Explained, cut, short_repr


class NoApplication(TypeError):
    """A call of the application returned no awaitable."""


class SendRefused(Explained):
    """The server of the suite refused what the application sent; `fact` says why."""


REFUSED = f"{SendRefused.__module__}.{SendRefused.__qualname__}"


class Answers:
    """The state of a message sequence, and what was answered."""

    state: validate.State = "called"
    live: dict[Any, Any] | None = None
    provided: Mapping[Any, Any] = {}  # the state at the end of startup
    context: Context  # of the call
    reached: Reached | None = None  # while nothing was received or sent

    def __init__(self, spec: str, seen: Observation) -> None:
        self.spec, self.seen = spec, seen
        # calls of applications that have called `receive`: a frame itself would keep all it has
        self.receivers = set[tuple[int, CodeType]]()

    def acts(self, *, receives: bool = False) -> None:
        """Note the innermost application that acts, which may be a framework's."""
        self.look_no_more()
        # from the caller of `receive` or `send` on: what is further in is of the suite
        callers = outward(sys._getframe(2))  # noqa: SLF001
        frame = next((caller for caller in callers if module_of(caller)), None)
        if frame is None:
            return
        self.seen.actor = module_of(frame)
        if receives:
            self.receivers.add((id(frame), frame.f_code))
        if not self.seen.startup.how:
            at = place([line(frame)])
            self.seen.answerer = at.fact() if at else None

    def look_no_more(self) -> None:
        """End to see how far the call gets: it has acted, or is over."""
        if self.reached:
            self.reached.stop()
            self.reached = None

    def raised(self, error: BaseException) -> None:
        """Note what the call has raised, and whose doing that is."""
        seen = self.seen
        seen.error = described(error)
        if isinstance(error, NoApplication):
            seen.blocker = fact("no-application", value=str(error))
        # the one that began it: a framework may have raised another one from it
        first = next(chain(error))
        walked = list(traceback.walk_tb(trace_of(first)))
        frames = [frame for frame, _ in walked]
        actors = [frame for frame in frames if module_of(frame)]
        if not actors:
            return
        inner = actors[-1]
        seen.reached = _reached(walked)
        seen.actor = module_of(inner)
        # an application that is called by another one raises for the scope, before it receives
        if frames[-1] is inner and (id(inner), inner.f_code) not in self.receivers:
            seen.refuses = first is not error or len(actors) > 1

    def refusal(self, message: Any, kind: Any) -> Fact | None:
        """Take a step in the table of transitions; return why the message is refused, or None."""
        event = _known_event(kind)
        if event is None or event.sender == "server":
            return self._break("events-known", _unknown(kind, message))
        no_text = None
        if event.defaults:
            no_text = self._failure(message, kind)
        before = self.state
        step = validate.TRANSITIONS[before][kind]
        moment = fact(f"moment-{before}")
        rule = step.rule or step.warning
        if rule:
            observed = fact("sent-when", event=kind, moment=moment)
            self._break(rule, observed, is_open=bool(step.warning))
        if step.to == before:
            return fact("refused-answer", event=kind, moment=moment)
        self.state = step.to
        self._answered(kind)
        return no_text

    def text(self, message: Any, kind: Any) -> str:
        """Return the message of a failure, or ""."""
        event = _known_event(kind)
        if event is None or not event.defaults:
            return ""
        text = self._message(message)
        if not isinstance(text, str):
            text = short_repr(text)
        return cut(text)

    def _message(self, message: Mapping[str, Any]) -> Any:
        if validate.SPECS[self.spec].needs_message:
            return message.get("message")
        return message.get("message", "")

    def _failure(self, message: Mapping[str, Any], kind: str) -> Fact | None:
        """Keep the exception of a failure; return why its message is refused, or None."""
        if not validate.SPECS[self.spec].failures:
            self._break("events-known", fact("sent-not-in-spec", event=kind), is_open=True)
        error = sys.exception()
        if error:  # which a framework has caught before it sends its text
            self.seen.caught = described(error)
        text = self._message(message)
        if isinstance(text, str):
            return None
        return self._break("message-is-text", fact("message-no-text", value=short_repr(text)))

    def _answered(self, kind: str) -> None:
        """Note an answer."""
        phase, _, answer = kind.removeprefix("lifespan.").partition(".")
        self.seen.answers(phase, answer)
        if answer == "complete" and phase == "startup":
            state = self.live or {}
            self.provided = {**state}
            self.seen.facts += _variables(self.context)
            for key in state:
                if not isinstance(key, str):
                    self._break("state-keys-text", fact("key-at-startup", key=short_repr(key)))

    def _break(self, rule: str, observed: Fact, *, is_open: bool = False) -> Fact:
        """Note that a message broke a rule; return what was observed."""
        is_open = is_open or rule in validate.SPECS[self.spec].open
        self.seen.broken.append(Broken(rule, observed, is_open))
        return observed


def _known_event(kind: object) -> validate.Event | None:
    """Return the event of this type, if there is one."""
    if not isinstance(kind, str):
        return None
    return validate.EVENTS.get(kind)


def _unknown(kind: object, message: object) -> Fact:
    """Return that there is no such event, and which one may have been meant."""
    if not isinstance(kind, str):
        return fact("no-event", value=short_repr(message))
    known = [event.type for event in validate.EVENTS.values() if event.sender == "application"]
    meant = difflib.get_close_matches(kind, known, n=1)
    if meant:
        return fact("unknown-event-but", event=cut(kind, 100), meant=meant[0])
    return fact("unknown-event", event=cut(kind, 100))


def _variables(before: Context) -> list[Fact]:
    """Return the author's context variables that this context has set.

    They are in a module of theirs, and in none of a library: what a library keeps is its affair.
    """
    changed = []
    for variable, value in copy_context().items():
        if before.get(variable, before) is not value:  # `before` is no value of any
            changed.append(variable)
    if not changed:  # modules may be many
        return []
    own = [module for module, _file in own_modules()]
    names = _variables_of(own)
    of_author = set(map(id, own))
    others = []
    for module in list(sys.modules.values()):
        # a module of a class of its own may run code when it is asked for its variables
        if type(module) is ModuleType and id(module) not in of_author:
            others.append(module)
    for variable in _variables_of(others):
        names.pop(variable, None)
    own_changed = [names[variable] for variable in changed if variable in names]
    return [fact("context-variable", name=name) for name in own_changed]


def _variables_of(modules: Iterable[ModuleType]) -> dict[Any, str]:
    """Return the context variables among the variables of modules, with their names there."""
    names = {}
    for module in modules:
        for name, value in vars(module).copy().items():
            if type(value) is ContextVar:
                names[value] = name
    return names


def _reached(walked: Iterable[tuple[FrameType, int]]) -> Place | None:
    """Return the line of the innermost application through which an exception for a scope came.

    None if it has called an `async def` that may have got the scope in arguments of its own.
    """
    reached = None
    for frame, number in walked:
        if module_of(frame):
            if may_answer(frame.f_code):
                reached = place_of(line(frame, number))
        elif is_awaited(frame.f_code):
            reached = None
    return reached
