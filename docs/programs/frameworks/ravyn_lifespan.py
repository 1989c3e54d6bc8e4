"""Ravyn, with lifespan=."""

import contextlib

from ravyn import Gateway, Ravyn, Request, get
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


@get("/")
async def home(request: Request) -> str:
    return request.state.database


app = Ravyn(lifespan=lifespan, routes=[Gateway(handler=home)])
