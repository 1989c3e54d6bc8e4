"""Sanic, with one listener that closes what it has opened."""

import contextlib

from resources import connection
from sanic import Sanic
from sanic.response import text

app = Sanic("shop")


@app.before_server_start
async def open_resources(app):
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        app.ctx.database = await enter(connection("database"))
        await enter(connection("cache"))
        await enter(connection("queue"))
        app.ctx.opened = stack.pop_all()


@app.after_server_stop
async def close_resources(app):
    await app.ctx.opened.aclose()


@app.get("/")
async def home(request):
    return text(request.app.ctx.database)
