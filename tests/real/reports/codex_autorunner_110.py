"""https://github.com/Git-on-my-level/codex-autorunner/issues/110: loops that nobody cancels."""

import asyncio
from contextlib import asynccontextmanager

from fastapi import FastAPI


async def prune():
    while True:
        await asyncio.sleep(60)


@asynccontextmanager
async def lifespan(app):
    app.state.pruning = asyncio.create_task(prune())
    yield


app = FastAPI(lifespan=lifespan)
