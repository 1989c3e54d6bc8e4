"""A database driver has a thread for each connection, of which one is not closed."""

from contextlib import asynccontextmanager

import aiosqlite
from starlette.applications import Starlette


@asynccontextmanager
async def lifespan(app):
    app.state.database = await aiosqlite.connect(":memory:")
    yield


app = Starlette(lifespan=lifespan)
