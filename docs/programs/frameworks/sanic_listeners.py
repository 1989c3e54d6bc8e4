"""Sanic, with before_server_start and after_server_stop."""

from resources import connect, disconnect
from sanic import Sanic
from sanic.response import text

app = Sanic("shop")


@app.before_server_start
async def open_database(app, loop):
    app.ctx.database = await connect("database")


@app.before_server_start
async def open_cache(app, loop):
    await connect("cache")


@app.before_server_start
async def open_queue(app, loop):
    await connect("queue")


@app.after_server_stop
async def close_database(app, loop):
    await disconnect("database")


@app.after_server_stop
async def close_cache(app, loop):
    await disconnect("cache")


@app.after_server_stop
async def close_queue(app, loop):
    await disconnect("queue")


@app.get("/")
async def home(request):
    return text(request.app.ctx.database)
