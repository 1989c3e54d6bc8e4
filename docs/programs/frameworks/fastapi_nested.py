"""FastAPI, with an application of FastAPI mounted in it."""

import contextlib

from fastapi import FastAPI
from fastapi_lifespan import app
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("nested"):
        yield


app.mount("/nested", FastAPI(lifespan=lifespan))
