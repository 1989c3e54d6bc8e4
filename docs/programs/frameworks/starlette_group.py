"""Starlette, with a task group that serves until the shutdown."""

import asyncio
import contextlib

from resources import connection, work
from starlette.applications import Starlette


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("database"), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        yield
        task.cancel()


app = Starlette(lifespan=lifespan)
