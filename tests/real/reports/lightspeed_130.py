"""https://github.com/lightspeed-core/lightspeed-stack/pull/130: asyncio.run in a lifespan."""

import asyncio
from contextlib import asynccontextmanager

from fastapi import FastAPI


async def connect():
    pass


@asynccontextmanager
async def lifespan(app):
    asyncio.run(connect())
    yield


app = FastAPI(lifespan=lifespan)
