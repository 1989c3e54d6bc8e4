"""Two tasks of a lifespan open and close one cancel scope."""

import asyncio
from contextlib import asynccontextmanager

import anyio
from starlette.applications import Starlette


@asynccontextmanager
async def lifespan(app):
    group = anyio.create_task_group()
    await asyncio.create_task(group.__aenter__())
    yield
    await asyncio.create_task(group.__aexit__(None, None, None))


app = Starlette(lifespan=lifespan)
