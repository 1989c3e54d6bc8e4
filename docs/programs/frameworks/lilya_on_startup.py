"""Lilya, with on_startup= and on_shutdown=."""

from lilya.apps import Lilya
from lilya.responses import PlainText
from lilya.routing import Path
from resources import connect, disconnect


async def open_database():
    app.state.database = await connect("database")


async def open_cache():
    await connect("cache")


async def open_queue():
    await connect("queue")


async def close_database():
    await disconnect("database")


async def close_cache():
    await disconnect("cache")


async def close_queue():
    await disconnect("queue")


async def home(request):
    return PlainText(request.app.state.database)


app = Lilya(
    routes=[Path("/", home)],
    on_startup=[open_database, open_cache, open_queue],
    on_shutdown=[close_database, close_cache, close_queue],
)
