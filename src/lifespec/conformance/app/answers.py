"""What an application answers: each message by the tables of `lifespec.validate`."""

import difflib
import sys
import traceback
from collections.abc import Mapping
from contextvars import Context, ContextVar, copy_context
from types import CodeType, FrameType
from typing import Any

from lifespec import validate
from lifespec.conformance.app.observation import Broken, Observation
from lifespec.diagnosis.author import described, own_modules, place
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.stacks import application, chain, is_ours, line, trace_of
from lifespec.words import Told, cut, short_repr


class NoApplication(TypeError):
    """A call of the application returned no awaitable."""


class SendRefused(Told):
    """The server of the suite refused what the application sent; `fact` says why."""


REFUSED = f"{SendRefused.__module__}.{SendRefused.__qualname__}"


class Answers:
    """The state of a message sequence, and what was answered."""

    state: validate.State = "called"
    live: dict[Any, Any] | None = None
    provided: Mapping[Any, Any] = {}  # the state at the end of startup
    context: Context  # of the call

    def __init__(self, spec: str, seen: Observation) -> None:
        self.spec, self.seen = spec, seen
        # calls of applications that have called `receive`: a frame itself would keep all it has
        self.receivers = set[tuple[int, CodeType]]()

    def acts(self, *, receives: bool = False) -> None:
        """Note the innermost application that acts, which may be a framework's."""
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(2)))  # noqa: SLF001
        frame = next(filter(module_of, frames), None)
        if frame is None:
            return
        self.seen.actor = module_of(frame)
        if receives:
            self.receivers.add((id(frame), frame.f_code))
        if not self.seen.startup.how:
            at = place([line(frame)])
            self.seen.answerer = at.fact() if at else None

    def raised(self, error: BaseException) -> None:
        """Note what the call has raised, and whose doing that is."""
        seen = self.seen
        seen.error = described(error)
        if isinstance(error, NoApplication):
            seen.blocker = fact("no-application", value=str(error))
        first = next(chain(error))
        frames = [frame for frame, _ in traceback.walk_tb(trace_of(first))]
        actors = [frame for frame in frames if module_of(frame)]
        if not actors:
            return
        inner = actors[-1]
        seen.actor = module_of(inner)
        is_inner = first is not error or len(actors) > 1
        has_received = (id(inner), inner.f_code) in self.receivers
        seen.refuses = is_inner and frames[-1] is inner and not has_received

    def refusal(self, message: Any, kind: Any) -> Fact | None:
        """Take a step in the table of transitions; return why the message is refused, or None."""
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or event.sender == "server":
            return self._break("events-known", _unknown(kind, message))
        no_text = self._failure(message, kind) if event.defaults else None
        before, step = self.state, validate.TRANSITIONS[self.state][kind]
        moment = fact(f"moment-{before}")
        if rule := step.rule or step.warning:
            observed = fact("sent-when", event=kind, moment=moment)
            self._break(rule, observed, is_open=bool(step.warning))
        if step.to == before:
            return fact("refused-answer", event=kind, moment=moment)
        self.state = step.to
        self._answered(kind)
        return no_text

    def text(self, message: Any, kind: Any) -> str:
        """Return the message of a failure, or ""."""
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or not event.defaults:
            return ""
        text = self._message(message)
        return cut(text if isinstance(text, str) else short_repr(text))

    def _message(self, message: Mapping[str, Any]) -> Any:
        return message.get("message", None if validate.SPECS[self.spec].needs_message else "")

    def _failure(self, message: Mapping[str, Any], kind: str) -> Fact | None:
        """Keep the exception of a failure; return why its message is refused, or None."""
        if not validate.SPECS[self.spec].failures:
            self._break("events-known", fact("sent-not-in-spec", event=kind), is_open=True)
        if error := sys.exc_info()[1]:  # which a framework has caught before it sends its text
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
            self.provided = {**(self.live or {})}
            self.seen.facts += _variables(self.context)
            for key in self.live or ():
                if not isinstance(key, str):
                    self._break("state-keys-text", fact("key-at-startup", key=short_repr(key)))

    def _break(self, rule: str, observed: Fact, *, is_open: bool = False) -> Fact:
        """Note that a message broke a rule; return what was observed."""
        is_open = is_open or rule in validate.SPECS[self.spec].open
        self.seen.broken.append(Broken(rule, observed, is_open))
        return observed


def _unknown(kind: object, message: object) -> Fact:
    """Return that there is no such event, and which one may have been meant."""
    if not isinstance(kind, str):
        return fact("no-event", value=short_repr(message))
    known = [each.type for each in validate.EVENTS.values() if each.sender == "application"]
    if meant := difflib.get_close_matches(kind, known, n=1):
        return fact("unknown-event-but", event=cut(kind, 100), meant=meant[0])
    return fact("unknown-event", event=cut(kind, 100))


def _variables(before: Context) -> list[Fact]:
    """Return the context variables in the author's modules that this context has set."""
    found = [
        each for each, value in copy_context().items() if before.get(each, before) is not value
    ]
    own = [vars(module) for module, _file in own_modules()] if found else []
    named = {
        value: name for each in own for name, value in each.items() if type(value) is ContextVar
    }
    return [fact("context-variable", name=named[each]) for each in found if each in named]


def module_of(frame: FrameType) -> str:
    """Return the module of a frame that is an application's, or ""."""
    if is_ours(frame.f_code.co_filename) or not application(frame):
        return ""
    return str(frame.f_globals.get("__name__", ""))
