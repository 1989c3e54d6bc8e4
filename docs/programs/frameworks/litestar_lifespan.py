"""Litestar, with lifespan=."""

import contextlib

from litestar import Litestar, get
from litestar.datastructures import State
from resources import connection


@contextlib.asynccontextmanager
async def database(app: Litestar):
    async with connection("database") as app.state.database:
        yield


@contextlib.asynccontextmanager
async def cache(app: Litestar):
    async with connection("cache"):
        yield


@contextlib.asynccontextmanager
async def queue(app: Litestar):
    async with connection("queue"):
        yield


@get("/")
async def home(state: State) -> str:
    return state.database


app = Litestar([home], lifespan=[database, cache, queue])
