"""gunicorn's `LifespanManager`, asgi worker, done by lifespec's server.py.

In a copy of gunicorn this file replaces gunicorn/asgi/lifespan.py; server.py
lies beside it. The worker logs what `startup` and `shutdown` raise. It exits
if that is a LifespanStartupFailed, or anything with `--asgi-lifespan on`.
"""

from . import server

LifespanStartupFailed = server.StartupFailed


class LoggedByGunicorn(server.Lifespan):
    """A Lifespan that logs to gunicorn's logger."""

    logger = None
    told = False

    def report(self, level, sentence, error):
        """Log a sentence of server.py, except that the worker logs a failure."""
        if self.outcome in ("failed", "timed_out") and not self.told:
            self.told = True  # startup() or shutdown() raises it
        else:
            self.logger.log(level, sentence, exc_info=error)


class LifespanManager:
    """The lifespan of one gunicorn worker."""

    def __init__(self, app, logger, state=None):
        async def call(scope, receive, send):
            # gunicorn copies its own dict for each request
            await app({**scope, "state": state}, receive, send)

        state = {} if state is None else state
        self.lifespan = LoggedByGunicorn(call)
        self.lifespan.logger = logger

    async def startup(self):
        """Start the application, or raise."""
        await self.lifespan.startup()
        if not self.lifespan.supported:
            raise RuntimeError("the application does not support lifespan")

    async def shutdown(self):
        """Stop the application, or raise."""
        await self.lifespan.shutdown()
