"""Litestar, with lifespan= and functions of on_startup= and on_shutdown=."""

from litestar import Litestar
from litestar_lifespan import cache, database, home, queue
from resources import connect, disconnect


async def open_hook():
    await connect("hook")


async def close_hook():
    await disconnect("hook")


app = Litestar(
    [home],
    lifespan=[database, cache, queue],
    on_startup=[open_hook],
    on_shutdown=[close_hook],
)
