"""When servers call an application, and when it answers: hooks in the classes of known servers.

They are set once the module of a class is imported, and call an agent, which writes it down.
Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from _thread import get_ident
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Callable
    from typing import Any

_COROUTINE = 0x80  # the flag of its code
# a class of a server that carries out a lifespan, and its methods: that which calls the
# application, those that it is given, and that which begins shutdown
Server = namedtuple("Server", ("name", "kind", "call", "receive", "send", "stop"))
# by module
SERVERS = {
    "uvicorn.lifespan.on": Server("uvicorn", "LifespanOn", "main", "receive", "send", "shutdown"),
    "hypercorn.asyncio.lifespan": Server(
        "hypercorn", "Lifespan", "handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown"
    ),
    "hypercorn.trio.lifespan": Server(
        "hypercorn", "Lifespan", "handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown"
    ),
    "granian.asgi": Server("granian", "LifespanProtocol", "handle", "receive", "send", "shutdown"),
    "gunicorn.asgi.lifespan": Server(
        "gunicorn", "LifespanManager", "_run_lifespan", "_receive", "_send", "shutdown"
    ),
}
# methods whose call says something by itself: module, class, method, and what
MOMENTS = {
    "uvicorn.server": ("uvicorn", "Server", "shutdown", "stop"),
    "uvicorn.lifespan.off": ("uvicorn", "LifespanOff", "startup", "no-lifespan"),
    "daphne.server": ("daphne", "Server", "run", "no-lifespan"),
}


class Lifespan:
    """A call of an application with the lifespan scope, by a known server."""

    def __init__(self) -> None:
        self.coroutine: Any = lambda: None  # weak references, to the call and to one of receive
        self.receive: Any = lambda: None
        self.has_received = self.is_answered = False  # of startup

    def is_in_receive(self) -> bool:
        """Tell whether the application waits for an event."""
        return getattr(self.receive(), "cr_frame", None) is not None


class Finder:
    """Lets the classes of SERVERS and MOMENTS say what they do, once their module is imported."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of such a module, as the other finders have it."""
        if name not in SERVERS and name not in MOMENTS:
            return None
        for each in sys.meta_path:
            find = getattr(each, "find_spec", None)
            spec = find(name, path, target) if find and each is not self else None
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module = self.hooked(spec.loader.exec_module)
                return spec
        return None

    def hooked(self, execute: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return what executes a module, and then hooks its classes."""

        def executes(module: Any) -> None:
            execute(module)
            with contextlib.suppress(Exception):
                hook(module, self.agent)

        return executes


def hook(module: Any, agent: Any) -> None:
    """Let the methods of a server's classes tell when they are called."""
    name = module.__name__
    if name in MOMENTS:
        title, owner, method, what = MOMENTS[name]
        on_call(
            getattr(module, owner), method, lambda *_: agent.note(what, server=title), first=True
        )
    if name not in SERVERS:
        return
    server = SERVERS[name]
    kind = getattr(module, server.kind)
    calls: Any = weakref.WeakKeyDictionary()

    def called(this: Any, coroutine: Any, *_: Any) -> None:
        call = calls[this] = Lifespan()
        call.coroutine = weakref.ref(coroutine)
        agent.lifespans.append(call)
        agent.note("called", server=server.name)

    def receives(this: Any, coroutine: Any, *_: Any) -> None:
        calls[this].receive = weakref.ref(coroutine)
        calls[this].has_received = True
        agent.loops[current_loop()] = get_ident()

    def sent(this: Any, _: Any, message: Any, *__: Any) -> None:
        if this in calls:  # and was not called before it was watched
            calls[this].is_answered = True
        text, error = str(message.get("message", "")), agent.error(sys.exc_info()[1])
        agent.note("sent", type=str(message["type"]), text=text, error=error)

    def stopped(*_: Any) -> None:
        agent.is_stopping = True
        agent.note("shutdown", server=server.name)

    on_call(kind, server.call, called)
    on_call(kind, server.receive, receives)
    on_call(kind, server.send, sent)
    on_call(kind, server.stop, stopped)
    set_before = kind.__setattr__

    def set_now(this: Any, name: str, value: Any) -> None:
        set_before(this, name, value)
        error = sys.exc_info()[1]
        if error is not None:  # the server has caught what the application raised
            with contextlib.suppress(Exception):
                calls[this].is_answered = True
                received = calls[this].has_received
                agent.note("raised", error=agent.error(error), received=received)

    kind.__setattr__ = set_now


def on_call(kind: Any, method: str, note: Callable[..., Any], *, first: bool = False) -> None:
    """Replace a method by itself, and a note of each call: object, result, arguments.

    With `first` the note comes before the call, and without its result.
    """
    original = getattr(kind, method)

    @functools.wraps(original)
    def noted(this: Any, *arguments: Any, **options: Any) -> Any:
        result = None if first else original(this, *arguments, **options)
        with contextlib.suppress(Exception):
            note(this, result, *arguments)
        return original(this, *arguments, **options) if first else result

    code = getattr(original, "__code__", None)
    mark = getattr(sys.modules.get("inspect"), "markcoroutinefunction", None)  # Python 3.12
    if code is not None and mark is not None and code.co_flags & _COROUTINE:
        noted = mark(noted)
    setattr(kind, method, noted)


def is_cancelled() -> bool:
    """Tell whether this task was cancelled: a CancelledError may come from one that it awaits."""
    try:
        return bool(sys.modules["asyncio"].current_task().cancelling())  # Python 3.11
    except Exception:
        return True


def current_loop() -> Any:
    """Return the event loop of asyncio that runs here, or the token of that of trio."""
    try:
        return sys.modules["asyncio"].get_running_loop()
    except (KeyError, RuntimeError):
        return sys.modules["trio"].lowlevel.current_trio_token()


def install(agent: Any) -> None:
    """Set the hooks: now in the modules that are imported, and later in the others."""
    sys.meta_path.insert(0, Finder(agent))
    for each in {*SERVERS, *MOMENTS} & {*sys.modules}:
        hook(sys.modules[each], agent)
