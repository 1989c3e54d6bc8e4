"""hypercorn's `Lifespan`, trio worker, done by lifespec's server_trio.py.

In a copy of hypercorn this file replaces hypercorn/trio/lifespan.py;
server_trio.py and server.py lie in the folder above, hypercorn.
"""

import trio

from .. import server, server_trio
from ..utils import LifespanFailureError, LifespanTimeoutError


class LoggedByHypercorn(server_trio.Lifespan):
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

    def __init__(self, app, config, state):
        async def call(scope, receive, send):
            # hypercorn copies its own dict for each connection
            threads = trio.to_thread.run_sync, trio.from_thread.run
            await app({**scope, "state": state}, receive, send, *threads)

        self.lifespan = LoggedByHypercorn(
            call,
            startup_timeout=config.startup_timeout,
            shutdown_timeout=config.shutdown_timeout,
        )
        self.lifespan.logger = config.log.error_logger
        self.answered, self.late = trio.Event(), None

    async def handle_lifespan(self, *, task_status=None):
        """Start the application; the nursery raises what this task raises."""
        if task_status:
            task_status.started()
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
