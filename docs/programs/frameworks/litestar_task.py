"""Litestar, with a task that serves until the shutdown."""

import asyncio
import contextlib

from litestar import Litestar
from resources import connection, work


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("database"):
        task = asyncio.create_task(work())
        yield
        task.cancel()


app = Litestar(lifespan=[lifespan])
