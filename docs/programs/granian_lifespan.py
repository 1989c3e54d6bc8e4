"""granian's `LifespanProtocol`, done by lifespec's server.py.

In a copy of granian these classes replace the one in granian/asgi.py;
server.py lies beside it as lifespan.py, because granian has a package
`server`. granian's workers use `startup`, `shutdown`, `state`, `interrupt`
and `exc`.
"""

from . import lifespan
from .log import logger


class LoggedByGranian(lifespan.Lifespan):
    """A Lifespan that logs to granian's logger."""

    def report(self, level, sentence, error):
        """Log a sentence of server.py."""
        logger.log(level, sentence, exc_info=error)


class LifespanProtocol:
    """The lifespan of one granian worker."""

    exc = None  # granian would log it once more
    interrupt = False

    def __init__(self, callable):  # noqa: A002  granian's name
        self.lifespan = LoggedByGranian(callable)
        self.state = self.lifespan.state

    async def startup(self):
        """Start the application; with `interrupt` granian does not serve it."""
        try:
            await self.lifespan.startup()
        except lifespan.StartupFailed:
            self.interrupt = True

    async def shutdown(self):
        """Stop the application."""
        try:
            await self.lifespan.shutdown()
        except lifespan.ShutdownFailed:
            self.interrupt = True
