"""https://github.com/Kludex/uvicorn/issues/2308: a task group fails, and the server goes on."""

import asyncio
from contextlib import asynccontextmanager

import anyio
from starlette.applications import Starlette


async def poll():
    await asyncio.sleep(0.05)
    raise RuntimeError("the queue is gone")


@asynccontextmanager
async def lifespan(app):
    async with anyio.create_task_group() as group:
        group.start_soon(poll)
        await asyncio.sleep(0.01)
        yield


app = Starlette(lifespan=lifespan)
