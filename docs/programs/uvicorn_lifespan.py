"""uvicorn's `LifespanOn`, done by lifespec's server.py.

In a copy of uvicorn this file replaces uvicorn/lifespan/on.py; server.py lies
beside it. uvicorn's server uses `startup`, `shutdown`, `state` and
`should_exit`. Its tests read the other three attributes.
"""

import logging

from . import server

log = logging.getLogger("uvicorn.error")


class LoggedByUvicorn(server.Lifespan):
    """A Lifespan that logs to uvicorn's logger, and some things in its words."""

    required = False
    logged = None  # the exception of the last record

    def report(self, level, sentence, error):
        """Log a sentence of server.py, and each exception once."""
        if level == logging.INFO:  # the application has no lifespan support
            sentence = "ASGI 'lifespan' protocol appears unsupported."
            if self.required and self.error:
                level, error = logging.ERROR, self.error
                sentence = "Exception in 'lifespan' protocol"
        if error is None or error is not self.logged:
            log.log(level, sentence, exc_info=error)
        self.logged = error


class LifespanOn:
    """The lifespan of one uvicorn server."""

    def __init__(self, config):
        if not config.loaded:
            config.load()
        versions = {"version": config.asgi_version, "spec_version": "2.0"}
        scope = {"type": "lifespan", "asgi": versions, "state": {}}
        self.lifespan = LoggedByUvicorn(config.loaded_app, scope=scope)
        self.lifespan.required = config.lifespan == "on"
        self.state = self.lifespan.state
        self.error_occurred = self.should_exit = False
        self.startup_failed = self.shutdown_failed = False

    async def startup(self):
        """Start the application; set `should_exit` if it is not to be served."""
        log.info("Waiting for application startup.")
        try:
            await self.lifespan.startup()
        except server.StartupFailed as failure:
            self.startup_failed = True
            self.error_occurred = failure.__cause__ is not None
        else:
            self.error_occurred = self.lifespan.error is not None
        self.conclude("startup", failed=self.startup_failed)

    async def shutdown(self):
        """Stop the application, unless it has ended already."""
        if self.lifespan.outcome:
            return
        log.info("Waiting for application shutdown.")
        try:
            await self.lifespan.shutdown()
        except server.ShutdownFailed as failure:
            self.shutdown_failed = True
            self.error_occurred = failure.__cause__ is not None
        else:
            self.error_occurred = self.lifespan.error is not None
        self.conclude("shutdown", failed=self.shutdown_failed)

    def conclude(self, stage, *, failed):
        """Log how a stage ended; with `on` an exception is a failure, too."""
        required = self.lifespan.required
        if failed or (self.error_occurred and required):
            log.error("Application %s failed. Exiting.", stage)
            self.should_exit = True
        else:
            log.info("Application %s complete.", stage)
