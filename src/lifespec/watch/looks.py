"""What a look at a process finds in its threads and event loops, beside the calls in its tasks.

Nothing here waits.  One thing changes what it looks at, and only while that runs: see `Busy`.
Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from _signal import getsignal  # type: ignore[import-not-found]  # its module in Python loads `enum`

from ..diagnosis import alive, stacks, waits, whose
from . import seen

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

MOST_WRITTEN = 8  # calls, and lines of a call, that are written down
_SIGNALS = {"SIGINT": 2, "SIGTERM": 15}
# functions of asyncio that run a loop for a task, and the variable that has it
_RUN_A_TASK = {"run_until_complete": "future", "run": "task"}
_AFTER_RESPONSE = ("starlette/background.py", "litestar/background_tasks.py")


def where_it_waits(of_call: waits.Looks, call: Any, thread: int, *, asks: bool) -> seen.CallState:
    """Return where a call is that waits, seen by one more of the looks at it."""
    of_call.look(call, stacks.of_thread(stacks.top_frames().get(thread)))
    return seen.CallState(False, False, asks, with_whose(of_call.lines), of_call.awaits)


def lines_of(frames: list[Any]) -> list[Any]:
    """Return the author's lines among frames, or else those of libraries, with whose they are."""
    shown = whose.lines_to_show(frames)
    if not shown:
        shown = [stacks.line(frame) for frame in frames[-1:]]
    return with_whose(shown)


def is_of_application(frames: list[Any]) -> bool:
    """Tell whether the innermost frame is the author's, or below a call of the application.

    An installed application has no line that is known to be its author's before it is looked at.
    """
    if stacks.is_own(frames[-1].f_code.co_filename):
        return True
    return any(stacks.application(frame) for frame in frames)


def with_whose(lines: list[Any]) -> list[Any]:
    """Return the innermost of some lines, with whose they are."""
    innermost = lines[-MOST_WRITTEN:]
    return [seen.At(file, line, name, stacks.is_own(file)) for file, line, name in innermost]


def thread_of(top: Any, frames: dict[int, Any]) -> int:
    """Return the thread with this innermost frame."""
    for thread, frame in frames.items():
        if frame is top:
            return thread
    return 0


def has_failed(task: Any) -> bool:
    """Tell whether a task has failed, and nobody has asked for its exception, as asyncio tells."""
    return bool(getattr(task, "_log_traceback", False))


def failed(known: Any) -> list[Any]:
    """Return references to the tasks that have failed: among those known by references, and all."""
    references = [weakref.ref(task) for task in alive.failed_tasks()]
    references += known.keyrefs()
    return [reference for reference in references if has_failed(reference())]


class Busy:
    """For how long event loops have been running one thing."""

    def __init__(self) -> None:
        self.handles: dict[Any, tuple[Any, float]] = {}  # what runs, and since when
        self.posted: dict[Any, float] = {}  # calls that loops have not run yet

    def seconds(self, loop: Any, thread: int, now: float) -> float | None:
        """Return for how many seconds a loop has been running one thing, None if it waits.

        asyncio's own loop has that in a variable.  Another loop gets a call that does nothing, and
        is blocked until that has run; but never one that waits for an event: who wakes it lets
        steps run that nothing else would have let run.
        """
        since = self.posted.get(loop)
        if since is not None:
            return now - since
        frames = stacks.of_thread(stacks.top_frames().get(thread))  # now: it may wait at once
        if not frames or stacks.is_idle(frames):  # the thread has ended, or waits for an event
            self.handles.pop(loop, None)
            return None
        handle = _handle(frames)
        if handle is None:
            self._post(loop, now)
            return 0.0
        before, since = self.handles.get(loop, (lambda: None, now))
        if before() is not handle:
            self.handles[loop] = weakref.ref(handle), now
            return 0.0
        return now - since

    def _post(self, loop: Any, now: float) -> None:
        self.posted[loop] = now
        post = getattr(loop, "call_soon_threadsafe", None)
        if post is None:
            post = loop.run_sync_soon  # of trio's token
        try:
            post(self.posted.pop, loop, None)
        except Exception:  # it has been closed meanwhile
            self.posted.pop(loop, None)


def _handle(frames: list[Any]) -> Any:
    """Return what asyncio's own loop runs just now, None for another loop."""
    for frame in frames:
        code = frame.f_code
        if code.co_name == "_run_once" and stacks.is_loop(code.co_filename):
            return frame.f_locals.get("handle")
    return None


def handlers_of_author(loops: dict[Any, Any]) -> dict[str, Any]:
    """Return the author's own handlers of the signals that end a server."""
    handlers = {}
    for name, number in _SIGNALS.items():
        of_signal: list[Any] = [getsignal(number)]
        for loop in loops:
            of_signal += _handlers_of_loop(loop, number)
        for handler in of_signal:
            code = getattr(handler, "__code__", None)
            if code is not None and stacks.is_own(code.co_filename):
                handlers[name] = (code.co_filename, code.co_firstlineno, stacks.name_of(handler))
    return handlers


def _handlers_of_loop(loop: Any, number: int) -> list[Any]:
    """Return what a loop calls when a signal comes."""
    known = getattr(loop, "_signal_handlers", None)
    if known is not None:
        return [getattr(known.get(number), "_callback", None)]
    callbacks = []
    # uvloop has them in no attribute, and files by their numbers beside them: these are no handles,
    # which can be asked whether they were cancelled
    for part in gc.get_referents(loop):
        if type(part) is not dict:
            continue
        handle = part.get(number)
        if hasattr(handle, "cancelled"):
            callbacks += gc.get_referents(handle)
    return callbacks


def by_age(request: seen.Request) -> int:
    """Sort open requests: the oldest first, and last those whose age is not known."""
    if request.age is None:
        return 0
    return -request.age


def importing(frames: list[Any]) -> str:
    """Return the module that a thread imports, or "".

    It is the one that the author's line imports, which lasts, and not what that imports in turn.
    """
    module = ""
    is_by_author = True  # the next import on the stack
    for frame in frames:
        if stacks.is_own(frame.f_code.co_filename):
            is_by_author = True
        elif is_by_author and frame.f_code.co_name == "_find_and_load":
            module = str(frame.f_locals.get("name", ""))
            is_by_author = False
    return module


def with_awaited(frames: list[Any]) -> list[Any]:
    """Return the frames of a thread, and those of the task that its event loop was started for.

    Those only while the loop waits for an event: else what it runs is on the stack already.
    """
    if not stacks.is_idle(frames):
        return frames
    for frame in reversed(frames):
        variable = _RUN_A_TASK.get(frame.f_code.co_name)
        if variable and stacks.is_loop(frame.f_code.co_filename):
            awaited: list[Any] = waits.of(frame.f_locals.get(variable)).frames
            return frames + awaited
    return frames


def of_command(frames: list[Any], servers: set[str]) -> list[Any]:
    """Return the frames of a thread that are of the package whose command this process runs.

    `servers` are packages that are none.  A script that an installer has made imports its package.
    """
    packages: set[str] = set()
    of_packages = []
    for frame in frames:
        names = frame.f_globals
        if names.get("__name__") == "__main__":
            imported = sys.modules.keys() & set(frame.f_code.co_names)
            imported.add(names.get("__package__") or "")
            packages.update(name.partition(".")[0] for name in imported)
        elif not stacks.says_nothing(frame.f_code.co_filename):
            package = str(names.get("__name__", "")).partition(".")[0]
            if package in packages - servers - {""}:
                of_packages.append(frame)
    return of_packages


def listens() -> bool:
    """Tell whether a socket of this process listens, as that of a server does; or nobody knows."""
    import _socket  # noqa: PLC0415  which a server has imported: not at the start of each process

    try:
        # without the flag Python would set the limit of `setdefaulttimeout` on the socket itself
        kind = _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK
        numbers = sorted(map(int, os.listdir("/dev/fd")))
    except (AttributeError, OSError):  # pragma: no cover  this is not Linux
        return True
    for number in numbers:
        try:
            opened = _socket.socket(type=kind, fileno=number)
        except OSError:  # a file, or closed meanwhile
            continue
        try:
            if opened.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN):
                return True
        finally:
            opened.detach()
    return False


def follows_a_response(frames: list[Any]) -> bool:
    """Tell whether frames are those of a background task of a response, which was sent before."""
    for frame in frames:
        if frame.f_code.co_filename.replace("\\", "/").endswith(_AFTER_RESPONSE):
            return True
    return False


def untracked_calls() -> list[Any]:
    """Return the calls that granian runs in no task."""
    if "granian.asgi" not in sys.modules:
        return []
    calls = []
    for value in gc.get_objects():  # of the type: the object itself may have code for it
        if hasattr(type(value), "cr_frame") and value.__name__ == "future_watcher":
            calls.append(value)
    return calls
