"""Litestar, with a task group that serves until the shutdown."""

import asyncio
import contextlib

from litestar import Litestar
from resources import connection, work


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("database"), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        yield
        task.cancel()


app = Litestar(lifespan=[lifespan])
