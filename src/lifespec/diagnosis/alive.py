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

# in the commands of processes that Python starts for itself, and that end with their parent
_HELPERS = ("from multiprocessing.resource_tracker imp", "from multiprocessing.forkserver imp")
_THREADING = os.path.join(stacks.LIBRARY, "threading.py")
_QUEUE = os.path.join(stacks.LIBRARY, "queue.py")
# where an idle thread of a pool waits: the file, the function, and whether in a queue of Python
_IDLE = (
    ("concurrent/futures/thread.py", "_worker", False),
    ("anyio/_backends/_asyncio.py", "run", True),
)
# functions that have a loop among their variables
_RUNNERS = ("run_forever", "run_until_complete", "run", "_run_once")


# ---- threads and processes ---------------------------------------------------------------------


def threads() -> list[Any]:
    """Return the threads of Python, without a lock that one of them may hold."""
    active: dict[int, Any] = getattr(sys.modules.get("threading"), "_active", {})
    return list(active.values())


def keeps_process(thread: Any) -> bool:
    """Tell whether a thread delays the end of the process; that of an idle pool does not."""
    if thread.daemon:
        return False
    if thread.ident == get_ident():  # who asks does not wait for itself
        return False
    pending = getattr(thread, "pending_work_items", None)
    if pending is not None:  # a pool of processes
        return bool(pending)
    frames = stacks.of_thread(stacks.top_frames().get(thread.ident))
    return not _is_idle_in_pool(frames)


def _is_idle_in_pool(frames: list[Any]) -> bool:
    """Tell whether the frames are those of a thread that waits for something to do.

    One of `concurrent.futures` waits in a queue that is in C, so its worker is the innermost; one
    of anyio waits in Python's `queue`, and if its worker is the innermost it runs something in C.
    """
    codes = [frame.f_code for frame in frames]
    is_in_queue = False
    while codes and codes[-1].co_filename in (_THREADING, _QUEUE):
        inner = codes.pop()
        if inner.co_filename == _QUEUE:
            is_in_queue = True
    if not codes:
        return False
    worker = codes[-1]
    for file, name, in_queue in _IDLE:
        if not worker.co_filename.endswith(file):
            continue
        if worker.co_name == name and is_in_queue == in_queue:
            return True
    return False


def thread_name(thread: Any) -> str:
    """Return the name of a thread, and what it belongs to if that is a pool of processes."""
    if hasattr(thread, "pending_work_items"):
        return f"{thread.name} of ProcessPoolExecutor"
    return str(thread.name)


def children(pid: int, folder: str = "/proc") -> dict[int, str]:
    """Return each child that runs, by its number, where /proc has them: its name or command.

    Those that end by themselves are left out: of pools of processes, and Python's own.
    """
    running: dict[int, str] = {}
    if not os.path.isdir(folder):
        return running
    if _is_childless(pid):  # a look at each process of the machine costs
        return running
    pooled = _of_pools()
    names = _of_multiprocessing()
    for name in filter(str.isdigit, os.listdir(folder)):
        command = _command_of_child(pid, f"{folder}/{name}")
        number = int(name)
        if command is None or number in pooled:
            continue
        if _is_helper(command):
            continue
        if number in names:
            shown = names[number]
        elif command == _command(f"{folder}/{pid}"):  # a fork has the command of its parent
            shown = "os.fork"
        else:
            shown = command[:60]
        running[number] = f"{shown} ({name})"
    return running


def _command_of_child(pid: int, folder: str) -> str | None:
    """Return the command of a process, None if it is no child of this one or has ended."""
    try:
        if _parent(folder) != pid:
            return None
        return _command(folder)
    except (OSError, ValueError):  # it has ended meanwhile
        return None


def _of_pools() -> set[int]:
    """Return the numbers of the processes of pools, each of which a thread has."""
    numbers: set[int] = set()
    for thread in threads():
        numbers.update(getattr(thread, "processes", None) or ())
    return numbers


def _of_multiprocessing() -> dict[int, str]:
    started = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    return {process.pid: f"{process.name} of multiprocessing" for process in list(started)}


def _is_helper(command: str) -> bool:
    return any(helper in command for helper in _HELPERS)


def _is_childless(pid: int) -> bool:
    """Tell whether it is known without a look at each process that this one has no child."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (AttributeError, OSError):  # there is none; a browser's Python has no `waitid`
        return pid == os.getpid()  # the system tells a process of its own children alone
    return False


def _parent(folder: str) -> int:
    """Return the parent of a process, 0 if it has ended."""
    with open(f"{folder}/stat", "rb") as file:  # each process of the machine is asked
        after_name = file.read().rpartition(b") ")[2]  # which may have spaces and brackets itself
    state, parent = after_name.split(maxsplit=2)[:2]
    if state == b"Z":
        return 0
    return int(parent)


def _command(folder: str) -> str:
    with open(f"{folder}/cmdline", errors="replace") as file:  # a name may be no UTF-8
        program, *words = file.read().split("\0")
    return " ".join([os.path.basename(program), *words]).strip()


# ---- event loops -------------------------------------------------------------------------------


def loops(frames: dict[int, Any]) -> dict[Any, Any]:
    """Return the event loops of asyncio that run, each with the innermost frame of its thread."""
    running: dict[Any, Any] = {}
    events: Any = sys.modules.get("asyncio.events")
    if not hasattr(events, "AbstractEventLoop"):  # or it is being imported
        return running
    for top in frames.values():
        for frame in stacks.of_thread(top):
            loop = _loop_of(frame, events.AbstractEventLoop)
            if loop is not None and loop.is_running():
                running[loop] = top
    return running


def _loop_of(frame: Any, kind: Any) -> Any:
    """Return the event loop that a frame runs, or None."""
    code = frame.f_code
    if code.co_name not in _RUNNERS:
        return None
    if "self" not in code.co_varnames:  # to ask a frame for its variables costs
        return None
    owner = frame.f_locals.get("self")
    if isinstance(owner, kind):
        return owner
    loop = getattr(owner, "_loop", None)  # of what runs one, such as a Runner
    return loop if isinstance(loop, kind) else None


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
    """Return the tasks that are not done, of a loop of asyncio or of trio's with this token."""
    if not hasattr(loop, "is_running"):
        return list(getattr(_trio_runner(top), "tasks", ()))
    try:
        return list(sys.modules["asyncio.tasks"].all_tasks(loop))
    except RuntimeError:  # a task of granian's has no loop
        return [task for task in _known_tasks() if task._loop is loop and not task.done()]  # noqa: SLF001


def failed_tasks() -> list[Any]:
    """Return the tasks of asyncio whose exception was not retrieved; none on Python 3.14.

    That version has tasks where only `all_tasks` finds them, which leaves out those that are done.
    """
    return [task for task in _known_tasks() if getattr(task, "_log_traceback", False)]


def _known_tasks() -> list[Any]:
    """Return all tasks of asyncio that something refers to, also those that are done."""
    module = sys.modules.get("asyncio.tasks")
    until_3_11 = getattr(module, "_all_tasks", None)
    known = getattr(module, "_scheduled_tasks", until_3_11)
    references = list(getattr(known, "data", ()))  # a copy at once: other threads begin tasks
    tasks = [reference() for reference in references]
    return [task for task in tasks if task is not None]
