"""What lives in a process: event loops and their tasks, threads, the processes that it has started.

Nothing here waits, or changes what it looks at.  Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from . import stacks

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from typing import Any

# in the commands of processes of Python's
_HELPERS = ("from multiprocessing.resource_tracker imp", "from multiprocessing.forkserver imp")
_WAITING = [os.path.join(os.path.dirname(os.__file__), f"{x}.py") for x in ("threading", "queue")]
# where an idle thread of a pool waits: the file, the function, and whether in a queue of Python
_IDLE = (
    ("concurrent/futures/thread.py", "_worker", False),
    ("anyio/_backends/_asyncio.py", "run", True),
)
_RUNNERS = (
    "run_forever",
    "run_until_complete",
    "run",
    "_run_once",
)  # what has a loop among its locals


# ---- threads and processes ---------------------------------------------------------------------


def threads() -> list[Any]:
    """Return the threads of Python, without a lock that one of them may hold."""
    return [*getattr(sys.modules.get("threading"), "_active", {}).values()]


def keeps_process(thread: Any) -> bool:
    """Tell whether a thread delays the end of the process; that of an idle pool does not."""
    if thread.daemon or thread.ident == get_ident():
        return False
    pending = getattr(thread, "pending_work_items", None)
    if pending is not None:  # a pool of processes
        return bool(pending)
    codes = [each.f_code for each in stacks.of_thread(stacks.top_frames().get(thread.ident))]
    is_in_queue = False
    while codes and codes[-1].co_filename in _WAITING:
        if codes.pop().co_filename == _WAITING[1]:
            is_in_queue = True
    if not codes:
        return True
    inner = codes[-1]
    for file, name, in_queue in _IDLE:
        if inner.co_filename.endswith(file) and (inner.co_name, is_in_queue) == (name, in_queue):
            return False
    return True


def thread_name(thread: Any) -> str:
    """Return the name of a thread, and what it belongs to if that is a pool of processes."""
    if hasattr(thread, "pending_work_items"):
        return f"{thread.name} of ProcessPoolExecutor"
    return str(thread.name)


def children(pid: int, folder: str = "/proc") -> dict[int, str]:
    """Return each child that runs, by its number, where /proc has them: its name or command.

    Those that end by themselves are left out: of pools of processes, and Python's own.
    """
    found: dict[int, str] = {}
    if not os.path.isdir(folder) or _is_childless(pid):
        return found
    pooled: set[int] = set()
    for thread in threads():
        pooled.update(getattr(thread, "processes", None) or ())
    started = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    names = {process.pid: f"{process.name} of multiprocessing" for process in list(started)}
    for name in os.listdir(folder):
        if not name.isdigit():
            continue
        number = int(name)
        try:
            if _parent(f"{folder}/{name}") != pid:
                continue
            command = _command(f"{folder}/{name}")
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if number in pooled or any(helper in command for helper in _HELPERS):
            continue
        if number in names:
            command = names[number]
        elif command == _command(f"{folder}/{pid}"):
            command = "os.fork"
        else:
            command = command[:60]
        found[number] = f"{command} ({name})"
    return found


def _is_childless(pid: int) -> bool:
    """Tell whether it is known without a look at each process that this one has no child."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (AttributeError, OSError):  # or the machine has no processes
        return pid == os.getpid()
    return False


def _parent(folder: str) -> int:
    """Return the parent of a process, 0 if it has ended."""
    with open(f"{folder}/stat", "rb") as file:  # each process of the machine is asked
        state, parent = file.read().rpartition(b") ")[2].split(maxsplit=2)[:2]
    return 0 if state == b"Z" else int(parent)


def _command(folder: str) -> str:
    with open(f"{folder}/cmdline") as file:
        program, *words = file.read().split("\0")
    return " ".join([os.path.basename(program), *words]).strip()


# ---- event loops -------------------------------------------------------------------------------


def loops(frames: dict[int, Any]) -> dict[Any, Any]:
    """Return the event loops of asyncio that run, each with the innermost frame of its thread."""
    found: dict[Any, Any] = {}
    events: Any = sys.modules.get("asyncio.events")
    if not hasattr(events, "AbstractEventLoop"):  # or it is being imported
        return found
    kind = events.AbstractEventLoop
    for top in frames.values():
        for frame in stacks.of_thread(top):
            if frame.f_code.co_name not in _RUNNERS or "self" not in frame.f_code.co_varnames:
                continue
            loop = frame.f_locals.get("self")
            if not isinstance(loop, kind):  # what runs one, such as a Runner
                loop = getattr(loop, "_loop", None)
            if isinstance(loop, kind) and loop.is_running():
                found[loop] = top
    return found


def is_running(loop: Any, top: Any) -> bool:
    """Tell whether a loop of asyncio, or that of trio with this token, runs in a thread."""
    if hasattr(loop, "is_running"):
        return bool(loop.is_running())
    return _trio_runner(top) is not None


def _trio_runner(top: Any) -> Any:
    """Return what runs trio in the thread with this innermost frame, or None."""
    for frame in stacks.of_thread(top):
        if frame.f_code.co_filename.replace("\\", "/").endswith("trio/_core/_run.py"):
            return frame.f_locals.get("runner")
    return None


def tasks(loop: Any, top: Any) -> list[Any]:
    """Return the tasks of a loop of asyncio or trio that are not done."""
    if not hasattr(loop, "is_running"):
        found: Any = getattr(_trio_runner(top), "tasks", ())
        return [*found]
    try:
        return [*sys.modules["asyncio.tasks"].all_tasks(loop)]
    except RuntimeError:  # a task of granian's has no loop
        return [each for each in _known_tasks() if each._loop is loop and not each.done()]  # noqa: SLF001


def failed_tasks() -> list[Any]:
    """Return the tasks of asyncio whose exception was not retrieved, before Python 3.14."""
    return [each for each in _known_tasks() if getattr(each, "_log_traceback", False)]


def _known_tasks() -> list[Any]:
    """Return all tasks of asyncio that something refers to, also those that are done."""
    module = sys.modules.get("asyncio.tasks")
    found: Any = getattr(module, "_scheduled_tasks", None) or getattr(module, "_all_tasks", ())
    return [*found]
