"""Starlette, with lifespan=."""

import contextlib

from resources import connection
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


@contextlib.asynccontextmanager
async def lifespan(app):
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


async def home(request):
    return PlainTextResponse(request.state.database)


app = Starlette(lifespan=lifespan, routes=[Route("/", home)])
