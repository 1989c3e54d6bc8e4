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

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Callable, Collection
    from typing import Any

COROUTINE = 0x80  # the flag of its code


def _lifespan(*methods: str) -> dict[str, str]:
    """Return the methods of a class that carries out a lifespan, by what their calls say.

    That which calls the application, the two that it is given, and that which begins shutdown.
    """
    return dict(zip(("called", "received", "sent", "shutdown"), methods))


_UVICORN = _lifespan("main", "receive", "send", "shutdown")
_GRANIAN = _lifespan("handle", "receive", "send", "shutdown")
_HYPERCORN = _lifespan("handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown")
_GUNICORN = _lifespan("_run_lifespan", "_receive", "_send", "shutdown")
# by module: the server, a class, and its methods by what their calls say
SERVERS = {
    "uvicorn.lifespan.on": ("uvicorn", "LifespanOn", _UVICORN),
    "hypercorn.asyncio.lifespan": ("hypercorn", "Lifespan", _HYPERCORN),
    "hypercorn.trio.lifespan": ("hypercorn", "Lifespan", _HYPERCORN),
    "granian.asgi": ("granian", "LifespanProtocol", _GRANIAN),
    "gunicorn.asgi.lifespan": ("gunicorn", "LifespanManager", _GUNICORN),
    "uvicorn.server": ("uvicorn", "Server", {"stop": "shutdown"}),
    "uvicorn.lifespan.off": ("uvicorn", "LifespanOff", {"no-lifespan": "startup"}),
    "daphne.server": ("daphne", "Server", {"no-lifespan": "run"}),
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
    """Acts on some modules, by name, once they are imported."""

    def __init__(self, modules: Collection[str], act: Callable[[Any], object]) -> None:
        self.modules, self.act = modules, act

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of such a module, as the other finders have it."""
        if name not in self.modules:
            return None
        for each in sys.meta_path:
            find = getattr(each, "find_spec", None)
            spec = find(name, path, target) if find and each is not self else None
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def executes(module: Any, execute: Callable[[Any], None] = execute) -> None:
                    execute(module)
                    with contextlib.suppress(Exception):
                        self.act(module)

                spec.loader.exec_module = executes
                return spec
        return None


def hook(module: Any, agent: Any) -> None:
    """Let the methods of a server's class tell when they are called."""
    server, owner, methods = SERVERS[module.__name__]
    kind = getattr(module, owner)
    calls: Any = weakref.WeakKeyDictionary()

    def called(this: Any, coroutine: Any, *_: Any) -> None:
        call = calls[this] = Lifespan()
        call.coroutine = weakref.ref(coroutine)
        agent.lifespans.append(call)
        agent.note("called", server=server)

    def received(this: Any, coroutine: Any, *_: Any) -> None:
        calls[this].receive = weakref.ref(coroutine)
        calls[this].has_received = True
        agent.loops[current_loop()] = get_ident()

    def sent(this: Any, _: Any, message: Any, *__: Any) -> None:
        if this in calls:  # and was not called before it was watched
            calls[this].is_answered = True
        text, error = str(message.get("message", "")), agent.error(sys.exc_info()[1])
        agent.note("sent", type=str(message["type"]), text=text, error=error)

    def said(what: str, *_: Any) -> None:
        agent.is_stopping = agent.is_stopping or what == "shutdown"
        agent.note(what, server=server)

    notes: dict[str, Callable[..., Any]] = {"called": called, "received": received, "sent": sent}
    for what, method in methods.items():
        note = notes.get(what) or functools.partial(said, what)
        on_call(kind, method, note, first=what not in notes)
    if "called" not in methods:
        return
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
    if code is not None and mark is not None and code.co_flags & COROUTINE:
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
    sys.meta_path.insert(0, Finder(SERVERS, lambda module: hook(module, agent)))
    for each in {*SERVERS} & {*sys.modules}:
        hook(sys.modules[each], agent)
