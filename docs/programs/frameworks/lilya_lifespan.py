"""Lilya, with lifespan=."""

import contextlib

from lilya.apps import Lilya
from lilya.responses import PlainText
from lilya.routing import Path
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


async def home(request):
    return PlainText(request.state.database)


app = Lilya(lifespan=lifespan, routes=[Path("/", home)])
