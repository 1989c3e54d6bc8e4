"""Starlette, with an application of Starlette mounted in it."""

import contextlib

from resources import connection
from starlette.applications import Starlette
from starlette_lifespan import app


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("nested"):
        yield


app.mount("/nested", Starlette(lifespan=lifespan))
