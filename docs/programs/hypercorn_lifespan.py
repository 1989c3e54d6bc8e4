"""hypercorn's `Lifespan`, asyncio worker, done by lifespec's server.py.

In a copy of hypercorn this file replaces hypercorn/asyncio/lifespan.py;
server.py lies in the folder above, hypercorn.
"""

import asyncio
from functools import partial

from .. import server
from ..utils import LifespanFailureError, LifespanTimeoutError


class LoggedByHypercorn(server.Lifespan):
    """A Lifespan that logs to hypercorn's error log, if there is one."""

    logger = None
    told = False

    def report(self, level, sentence, error):
        """Log a sentence of server.py, except that hypercorn shows a failure."""
        if self.outcome in ("failed", "timed_out") and not self.told:
            self.told = True  # startup() or shutdown() raises it
        elif self.logger:
            self.logger.log(level, sentence, exc_info=error)


class Lifespan:
    """The lifespan of one hypercorn worker."""

    def __init__(self, app, config, loop, lifespan_state):
        def call_soon(function, *arguments):
            call = function(*arguments)
            return asyncio.run_coroutine_threadsafe(call, loop).result()

        async def call(scope, receive, send):
            # hypercorn copies its own dict for each connection
            scope = {**scope, "state": lifespan_state}
            in_thread = partial(loop.run_in_executor, None)
            await app(scope, receive, send, in_thread, call_soon)

        self.lifespan = LoggedByHypercorn(
            call,
            startup_timeout=config.startup_timeout,
            shutdown_timeout=config.shutdown_timeout,
        )
        self.lifespan.logger = config.log.error_logger
        self.answered, self.late = asyncio.Event(), None

    async def handle_lifespan(self):
        """Start the application; hypercorn raises what this task raises."""
        try:
            await self.lifespan.startup()
        except server.StartupTimeout as late:
            self.late = late  # wait_for_startup raises it
        except server.StartupFailed as failure:
            error = LifespanFailureError("startup", failure.message)
            raise error from failure.__cause__
        finally:
            self.answered.set()

    async def wait_for_startup(self):
        """Return when startup is over, however it went."""
        await self.answered.wait()
        if self.late:
            raise LifespanTimeoutError("startup") from self.late

    async def wait_for_shutdown(self):
        """Stop the application."""
        try:
            await self.lifespan.shutdown()
        except server.ShutdownTimeout as late:
            raise LifespanTimeoutError("shutdown") from late
        except server.ShutdownFailed as failure:
            error = LifespanFailureError("shutdown", failure.message)
            raise error from failure.__cause__
