"""Muffin, with an exit stack, so that a failed startup ends and closes what was opened."""

import contextlib

from muffin import Application
from resources import connection

app = Application()
app.lifespan.ignore_errors = False
opened = contextlib.AsyncExitStack()


@app.on_startup
async def open_resources():
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        app.database = await enter(connection("database"))
        await enter(connection("cache"))
        await enter(connection("queue"))
        opened.push_async_exit(stack.pop_all())


@app.on_shutdown
async def close_resources():
    await opened.aclose()


@app.route("/")
async def home(request):
    return app.database
