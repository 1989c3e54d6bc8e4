"""How far a call gets before anything is received or sent: which application decides to return.

A framework calls its author's middleware, which may drop the scope before it comes to the router.
"""

import inspect
import sys
from types import CodeType, FrameType
from typing import Any

from lifespec.conformance.app.observation import Observation
from lifespec.diagnosis import guard
from lifespec.diagnosis.author import place_of
from lifespec.diagnosis.stacks import Line, application, is_ours, is_own, line, outward


def module_of(frame: FrameType) -> str:
    """Return the module of a frame that is an application's, or ""."""
    if is_ours(frame.f_code.co_filename):
        return ""
    if not application(frame):
        return ""
    return _module(frame)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def may_answer(code: CodeType) -> bool:
    """Tell whether a function can be an application: no constructor can, such as `Request`'s."""
    return code.co_name != "__init__"


def is_awaited(code: CodeType) -> bool:
    """Tell whether a function is an `async def`."""
    return bool(code.co_flags & inspect.CO_COROUTINE)


class Reached:
    """Keeps the innermost application that a call has reached: its module, as the actor, and line.

    A profile function sees the calls, until `stop`.
    """

    def __init__(self, seen: Observation) -> None:
        self.seen = seen
        self.depth = 0
        self.line: Line | None = None
        self.counts: dict[CodeType, bool] = {}  # whether further calls of a function count
        self.before: Any = sys.getprofile()
        # else it is a profiler written in C
        if self.before is None or callable(self.before):  # pragma: no branch
            sys.setprofile(self.profile)

    def stop(self) -> None:
        """Look no more; what the application has set itself stays."""
        if sys.getprofile() == self.profile:  # pragma: no branch
            sys.setprofile(self.before)
        if self.line:
            self.seen.reached = place_of(self.line)

    # coverage cannot trace the lines of a profile function, nor what it calls
    def profile(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note a call, and tell the profile function that there was before."""
        if event == "call":
            with guard.keeping():  # what a profile function raises ends the call that it sees
                if self.counts.get(frame.f_code, True):
                    self.note(frame)
                elif self.line and is_awaited(frame.f_code):
                    self.note_again(frame)
        if self.before is not None:
            self.before(frame, event, value)

    def doubt(self, code: CodeType) -> None:  # pragma: no cover
        """Name no line if a function further in may have got the scope, in arguments of its own."""
        if is_awaited(code):
            self.line = None

    def note_again(self, frame: FrameType) -> None:  # pragma: no cover
        """Doubt if a function is called further in that was called before; an outer one goes on."""
        if len(_applications(frame.f_back)) >= self.depth:
            self.line = None

    def note(self, frame: FrameType) -> None:  # pragma: no cover
        """Note how far a call gets: what is called further out, or goes on there, says nothing.

        An author's function without the three arguments counts where a library's application calls
        it: it may be middleware that takes them as `*args`.
        """
        code = frame.f_code
        module = module_of(frame)
        is_authors = is_own(code.co_filename)
        self.counts[code] = bool(module)  # of others the first call is enough: they may be many
        if not module:
            if not is_authors:
                self.doubt(code)
                return
        outer = _applications(frame.f_back)
        if not module:
            # between two functions of the author it may be anything, such as a helper of the first
            if not outer or is_own(outer[0].f_code.co_filename):
                self.doubt(code)
                return
        depth = len(outer) + 1
        if depth >= self.depth:
            self.depth = depth
            self.seen.actor = _module(frame)
            if may_answer(code):
                self.line = line(frame)


def _applications(frame: FrameType | None) -> list[FrameType]:  # pragma: no cover
    """Return the applications that have called a frame, the innermost first."""
    return [caller for caller in outward(frame) if module_of(caller)]
