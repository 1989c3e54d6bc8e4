"""FastHTML, with lifespan=, on_startup= and on_shutdown=."""

from fasthtml.common import FastHTML
from fasthtml_lifespan import lifespan
from resources import connect, disconnect


async def open_hook():
    await connect("hook")


async def close_hook():
    await disconnect("hook")


app = FastHTML(
    lifespan=lifespan,
    on_startup=open_hook,
    on_shutdown=close_hook,
    secret_key="change me",
)
