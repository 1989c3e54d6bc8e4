"""The last batch is lost at each stop, and a task dies while the application serves."""

import asyncio
import logging
from contextlib import asynccontextmanager

from starlette.applications import Starlette

log = logging.getLogger("rows")


async def receive_messages():
    await asyncio.sleep(0.05)
    raise ConnectionError("link detached")


@asynccontextmanager
async def lifespan(app):
    app.state.task = asyncio.create_task(receive_messages())
    yield
    try:
        raise RuntimeError("Plugin not yet initialized")
    except RuntimeError:
        log.exception("live event publish failed")


app = Starlette(lifespan=lifespan)
