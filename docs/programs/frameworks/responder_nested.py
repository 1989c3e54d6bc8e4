"""Responder, with an application of Responder mounted in it."""

import contextlib

import responder
from resources import connection
from responder_lifespan import app


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("nested"):
        yield


app.mount("/nested", responder.API(lifespan=lifespan))
