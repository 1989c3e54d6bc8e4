"""An application whose objects raise at each touch, lie, hold one another, or hold very much.

Each step is one kind of them; `app` takes all, and `alone(NAME)` one.  None of it is an error of
the application: it starts and stops.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn

from starlette.applications import Starlette

log = logging.getLogger("hostile")
kept: list[Any] = []
STEPS: dict[str, Callable[[], Any]] = {}


def step(function: Callable[[], Any]) -> Callable[[], Any]:
    STEPS[function.__name__] = function
    return function


class Touched(BaseException):
    """Nobody who only looks may be hit by this."""


class Meta(type):
    def __getattr__(cls, name: str) -> NoReturn:
        raise Touched(name)


class Hostile(metaclass=Meta):
    """Raises whatever it is asked."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise Touched(name)

    def raises(self, *_: object) -> NoReturn:
        raise Touched

    __repr__ = __str__ = __eq__ = __hash__ = __bool__ = __len__ = __call__ = raises  # type: ignore[assignment]


class Lying:
    """Says that it is a task."""

    @property
    def __class__(self) -> Any:
        return asyncio.Task

    def __getattr__(self, name: str) -> NoReturn:
        raise Touched(name)


class Bad(Exception):
    """An exception that nobody can look at through its own attributes."""

    def raises(self, *_: object) -> NoReturn:
        raise Touched

    __repr__ = __str__ = __eq__ = __hash__ = __bool__ = raises  # type: ignore[assignment]
    __traceback__ = __cause__ = __context__ = property(raises)  # type: ignore[assignment]

    @property
    def exceptions(self) -> tuple[Exception, ...]:
        return Bad(), Bad()


class Awaited:
    """Refers to very many objects while it is awaited."""

    def __await__(self) -> Iterator[Any]:
        many = iter([*range(10**6)])
        next(many)
        yield from asyncio.sleep(0.05).__await__()
        kept.append(many)


async def fails() -> NoReturn:
    raise Bad


@step
def objects() -> None:
    kept.extend([Hostile(), Lying(), Meta("Other", (), {})])


@step
def very_many() -> None:
    kept.append([[*range(10**6)]] * 10)


@step
def module() -> None:
    sys.modules["hostile_module"] = Hostile()  # type: ignore[assignment]


@step
def circle() -> dict[str, Any]:
    state: dict[str, Any] = {"list": []}
    state["list"].append(state)
    state["state"] = state
    return state


@step
def values_of_the_state() -> dict[str, Any]:
    return {"hostile": Hostile(), "lying": Lying()}


@step
def arguments_of_a_record() -> None:
    with suppress(TypeError):  # pytest lets logging raise
        log.error("%d items", "many")


@step
def message_of_a_record() -> None:
    with suppress(Touched):  # logging formats it, too
        log.error(Bad())


@step
def exception_of_a_record() -> None:
    try:
        raise Bad  # noqa: TRY301
    except Bad:
        with suppress(Touched):
            log.exception("bad")


@step
def exception_without_traceback() -> None:
    log.error("none", exc_info=OSError("no traceback"))


@step
async def group_that_holds_its_context() -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails_plainly())
    except ExceptionGroup as group:
        try:
            raise group.exceptions[0]
        except ValueError:
            log.exception("circle")


async def fails_plainly() -> NoReturn:
    raise ValueError("no orders")


@step
async def awaited() -> None:
    kept.append(asyncio.ensure_future(awaits()))
    await Awaited()


async def awaits() -> None:
    await Awaited()


@step
async def failed_task() -> None:
    kept.append(asyncio.ensure_future(fails()))
    await asyncio.sleep(0)


@step
def thread() -> None:
    class Named(threading.Thread):
        @property
        def name(self) -> str:
            raise OSError

        @name.setter
        def name(self, value: str) -> None: ...

    with suppress(OSError):  # Python's own `start` may ask for it
        Named(target=kept.copy, daemon=True).start()


@step
def handler() -> None:
    class Handler:
        def __call__(self, *_: object) -> None: ...

        def __getattr__(self, name: str) -> NoReturn:
            raise OSError(name)

        def __eq__(self, other: object) -> NoReturn:
            raise OSError

        def __repr__(self) -> NoReturn:
            raise OSError

        __hash__ = None  # type: ignore[assignment]

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, Handler())
        if os.environ.get("TAKES_SIGNALS"):
            signal.signal(signal.SIGTERM, Handler())


def alone(name: str) -> Starlette:
    """Return an application that takes one step."""
    return made(STEPS[name])


def made(*steps: Callable[[], Any]) -> Starlette:
    """Return an application that takes steps at startup."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        state: dict[str, Any] = {}
        for each in steps:
            found = each()
            if asyncio.iscoroutine(found):
                found = await found
            state |= found or {}
        yield state

    return Starlette(lifespan=life)


app = made(*STEPS.values())
