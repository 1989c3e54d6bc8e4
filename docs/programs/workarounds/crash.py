"""An application that logs its own crash: not every server does."""

import asyncio
import logging

log = logging.getLogger("shop")
logging.basicConfig(level=logging.INFO)


async def watch_stock():
    """Fail while the server is running."""
    await asyncio.sleep(0.1)
    raise RuntimeError("the warehouse is closed")


def report(task):
    """Log what ended a task of the application."""
    if not task.cancelled() and task.exception():
        log.error("The application crashed", exc_info=task.exception())


async def app(scope, receive, send):
    """Run a task from startup to shutdown."""
    if scope["type"] == "lifespan":
        await receive()
        task = asyncio.create_task(watch_stock())
        task.add_done_callback(report)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        task.cancel()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "http":
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})
    else:
        raise NotImplementedError(scope["type"])
