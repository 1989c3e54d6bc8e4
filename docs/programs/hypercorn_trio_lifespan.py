"""hypercorn's `Lifespan`, trio worker, done by lifespec's server_trio.py.

In a copy of hypercorn this file replaces hypercorn/trio/lifespan.py;
server_trio.py and server.py lie beside it.
"""

import trio
from hypercorn.utils import LifespanFailureError, LifespanTimeoutError

from lifespec import server, server_trio


class LoggedByHypercorn(server_trio.Lifespan):
    """A Lifespan that logs to hypercorn's error log, if there is one."""

    logger = None

    def note(self, level, sentence, error):
        """Log a sentence of server.py."""
        if self.logger:
            self.logger.log(level, sentence, exc_info=error)


class Lifespan:
    """The lifespan of one hypercorn worker."""

    def __init__(self, app, config, state):
        async def call(scope, receive, send):
            threads = trio.to_thread.run_sync, trio.from_thread.run
            await app(scope, receive, send, *threads)

        self.lifespan = LoggedByHypercorn(
            call,
            startup_timeout=config.startup_timeout,
            shutdown_timeout=config.shutdown_timeout,
        )
        self.lifespan.logger = config.log.error_logger
        # hypercorn copies its own dict
        self.lifespan.state = self.lifespan.scope["state"] = state
        self.answered = trio.Event()

    async def handle_lifespan(self, *, task_status=None):
        """Start the application; the nursery raises what this task raises."""
        if task_status:
            task_status.started()
        try:
            await self.lifespan.startup()
        except server.StartupTimeout:
            pass  # wait_for_startup raises it
        except server.StartupFailed as failure:
            message = failure.message
            raise LifespanFailureError("startup", message) from failure
        finally:
            self.answered.set()

    async def wait_for_startup(self):
        """Return when startup is over, however it went."""
        await self.answered.wait()
        if self.lifespan.outcome == "timed_out":
            raise LifespanTimeoutError("startup")

    async def wait_for_shutdown(self):
        """Stop the application."""
        try:
            await self.lifespan.shutdown()
        except server.ShutdownTimeout as late:
            raise LifespanTimeoutError("shutdown") from late
        except server.ShutdownFailed as failure:
            message = failure.message
            raise LifespanFailureError("shutdown", message) from failure
