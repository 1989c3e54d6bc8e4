"""How far a call gets before anything is received or sent: which application decides to return.

A framework calls its author's middleware, which may drop the scope before it comes to the router.
"""

import sys
from types import CodeType, FrameType
from typing import Any

from lifespec.conformance.app.observation import Observation
from lifespec.diagnosis import guard
from lifespec.diagnosis.stacks import application, is_ours, is_own, outward


def module_of(frame: FrameType) -> str:
    """Return the module of a frame that is an application's, or ""."""
    if is_ours(frame.f_code.co_filename):
        return ""
    if not application(frame):
        return ""
    return _module(frame)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


class Reached:
    """Keeps the module of the innermost application that a call has reached, as its actor.

    A profile function sees the calls, until `stop`.
    """

    def __init__(self, seen: Observation) -> None:
        self.seen = seen
        self.depth = 0
        self.counts: dict[CodeType, bool] = {}  # whether further calls of a function count
        self.before: Any = sys.getprofile()
        # else it is a profiler written in C
        if self.before is None or callable(self.before):  # pragma: no branch
            sys.setprofile(self.profile)

    def stop(self) -> None:
        """Look no more; what the application has set itself stays."""
        if sys.getprofile() == self.profile:  # pragma: no branch
            sys.setprofile(self.before)

    # coverage cannot trace the lines of a profile function, nor what it calls
    def profile(self, frame: FrameType, event: str, value: object) -> None:  # pragma: no cover
        """Note a call, and tell the profile function that there was before."""
        if event == "call":
            if self.counts.get(frame.f_code, True):
                with guard.keeping():  # what a profile function raises ends the call that it sees
                    self.note(frame)
        if self.before is not None:
            self.before(frame, event, value)

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
                return
        outer = _applications(frame.f_back)
        if not module:
            # between two functions of the author it may be anything, such as a helper of the first
            if not outer or is_own(outer[0].f_code.co_filename):
                return
        depth = len(outer) + 1
        if depth >= self.depth:
            self.depth = depth
            self.seen.actor = _module(frame)


def _applications(frame: FrameType | None) -> list[FrameType]:  # pragma: no cover
    """Return the applications that have called a frame, the innermost first."""
    return [caller for caller in outward(frame) if module_of(caller)]
