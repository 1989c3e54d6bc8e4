"""Connexion, with lifespan=."""

import contextlib

from connexion import AsyncApp
from resources import connection
from starlette.responses import PlainTextResponse


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


app = AsyncApp(__name__, lifespan=lifespan)
app.add_url_rule("/", "home", home)
