"""One server and one application on a loop that can be disturbed before each of its steps.

A step is one callback that the loop runs. Nothing in asyncio happens between two steps, so who
disturbs a run before each step once has disturbed it at every moment there is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, NamedTuple

from actors import watched
from lifespec import Lifespan
from lifespec.testing.clock import VirtualLoop

__all__ = ["Case", "Fact", "Run"]

Body = Callable[[Lifespan], Awaitable[object]]
AFTER = 1000.0  # seconds that an application which was given up has to end by itself


class Case(NamedTuple):
    """An application, the limits it runs under, and what becomes of it where nothing disturbs."""

    app: Any
    outcome: str
    error: type[Exception] | None = None
    limits: dict[str, float] = {}  # noqa: RUF012  nobody writes into it


class Fact(NamedTuple):
    """Something that happened, as seen from outside the driver."""

    what: str  # a type that was sent; returned, raised; expired; thrown, entered, over
    time: float
    phase: str  # the conversation's, as it happened


class Steps(VirtualLoop):
    """A virtual loop that calls `before` ahead of each step."""

    def __init__(self, before: Callable[[], None]) -> None:
        super().__init__()
        self.before = before

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        """Schedule a step."""
        return super().call_soon(self._step, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Any:
        """Schedule a step for later."""
        return super().call_at(when, self._step, callback, *args, context=context)

    def _step(self, callback: Any, *args: Any) -> None:
        self.before()
        callback(*args)


class Watched(Lifespan):
    """A lifespan that tells when a limit passed: nobody outside can see that moment."""

    tell: Callable[[str], None]

    def _on_timeout(self, seconds: float) -> None:
        """Tell, and go on."""
        self.tell("expired")
        super()._on_timeout(seconds)


class Run(logging.Handler):
    """Run a case once; `cancels` are the steps before which the server is cancelled.

    With `everything` all tasks are cancelled, as `asyncio.run` does at its end.
    """

    def __init__(
        self, case: Case, body: Body, cancels: frozenset[int], *, everything: bool = False
    ) -> None:
        super().__init__()
        self.case, self.body, self.cancels, self.everything = case, body, cancels, everything
        self.steps = 0  # until the server was gone
        self.obliged = False  # cancel() said that the server's task will be cancelled
        self.facts: list[Fact] = []
        self.raised: list[BaseException] = []
        self.records: list[logging.LogRecord] = []
        self.complaints: list[dict[str, Any]] = []
        self.left: set[str] = set()
        self.server: asyncio.Task[None] | None = None
        self.error: BaseException | None = None  # what the server ended with
        self.lifespan = Watched(self.app, **case.limits)  # type: ignore[arg-type]
        self.lifespan.tell = self.tell
        self.loop = Steps(self.before)
        self.loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        log = logging.getLogger("lifespec.server")
        log.addHandler(self)
        try:
            self.loop.run_until_complete(self.main())
        finally:
            log.removeHandler(self)
            self.loop.close()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what the server logged."""
        self.records.append(record)

    def tell(self, what: str) -> None:
        """Note a fact."""
        self.facts.append(Fact(what, self.loop.time(), self.lifespan.phase))

    def before(self) -> None:
        """Disturb the step that comes, if it is one of those."""
        if self.server is None or self.server.done():
            return
        self.steps += 1
        if self.steps not in self.cancels:
            return
        others = asyncio.all_tasks(self.loop) - {self.home} if self.everything else {self.server}
        for task in sorted(others, key=lambda task: (len(task.get_name()), task.get_name())):
            going = task.cancel()
            self.obliged |= going and task is self.server

    async def main(self) -> None:
        """Run the server; see what is there when it is gone, long after, and at the loop's end."""
        self.home = asyncio.current_task()
        self.server = asyncio.create_task(self.serve())
        await asyncio.wait([self.server])
        self.ended = self.loop.time()
        self.left = self.others() | self.timers()
        await asyncio.sleep(AFTER)
        self.abandoned = self.others()
        tasks = asyncio.all_tasks() - {self.home}
        for task in tasks:
            task.cancel()  # as asyncio.run does with what is left
        await asyncio.gather(*tasks, return_exceptions=True)
        self.remaining = self.others()

    def others(self) -> set[str]:
        """Name the tasks beside the one that looks."""
        return {repr(task) for task in asyncio.all_tasks(self.loop) - {self.home}}

    def timers(self) -> set[str]:
        """Name the limits that the driver still waits for."""
        pending = (handle for handle in self.loop._scheduled if not handle.cancelled())
        return {repr(handle) for handle in pending if self.lifespan._on_timeout in handle._args}

    async def serve(self) -> None:
        """Be a server, and see each exception that is thrown into it."""
        try:
            await watched(self.conduct(), lambda: self.tell("thrown"))
        except BaseException as error:
            self.error = error
            raise

    async def conduct(self) -> None:
        """Start the application, run the body, stop the application."""
        async with self.lifespan:
            self.tell("entered")
            try:
                await self.body(self.lifespan)
            finally:
                self.tell("over")

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """Be the case's application, and tell what it does."""

        async def telling(message: Any) -> None:
            await send(message)
            self.tell(message["type"])

        self.tell("called")
        try:
            await self.case.app(scope, receive, telling)
        except BaseException as error:
            self.raised.append(error)
            self.tell("raised")
            raise
        self.tell("returned")
