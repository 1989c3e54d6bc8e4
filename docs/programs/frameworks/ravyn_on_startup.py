"""Ravyn, with on_startup= and on_shutdown=."""

from ravyn import Gateway, Ravyn, Request, get
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


@get("/")
async def home(request: Request) -> str:
    return request.app.state.database


app = Ravyn(
    routes=[Gateway(handler=home)],
    on_startup=[open_database, open_cache, open_queue],
    on_shutdown=[close_database, close_cache, close_queue],
)
