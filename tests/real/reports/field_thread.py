"""A database driver has a thread for each connection, of which one is not closed."""

import threading
import time
from contextlib import asynccontextmanager

import aiosqlite
from starlette.applications import Starlette


@asynccontextmanager
async def lifespan(app):
    database = await aiosqlite.connect(":memory:")
    app.state.database = database
    yield
    if any(not each.daemon for each in threading.enumerate()[1:]):
        return
    threading.Thread(target=time.sleep, args=(60,)).start()


app = Starlette(lifespan=lifespan)
