"""FastAPI, with a task that serves until the shutdown."""

import asyncio
import contextlib

from fastapi import FastAPI
from resources import connection, work


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("database"):
        task = asyncio.create_task(work())
        yield
        task.cancel()


app = FastAPI(lifespan=lifespan)
