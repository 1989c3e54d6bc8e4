"""Starlette, with a task that serves until the shutdown."""

import asyncio
import contextlib

from resources import connection, work
from starlette.applications import Starlette


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("database"):
        task = asyncio.create_task(work())
        yield
        task.cancel()


app = Starlette(lifespan=lifespan)
