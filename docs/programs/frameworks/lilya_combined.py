"""Lilya, with lifespan=, on_startup= and on_shutdown=."""

from lilya.apps import Lilya
from lilya.routing import Path
from lilya_lifespan import home, lifespan
from resources import connect, disconnect


async def open_hook():
    await connect("hook")


async def close_hook():
    await disconnect("hook")


app = Lilya(
    lifespan=lifespan,
    on_startup=[open_hook],
    on_shutdown=[close_hook],
    routes=[Path("/", home)],
)
