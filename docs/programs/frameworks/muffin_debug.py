"""Muffin, with DEBUG=True."""

from muffin import Application
from resources import connect, disconnect

app = Application(DEBUG=True)


@app.on_startup
async def open_database():
    app.database = await connect("database")


@app.on_startup
async def open_cache():
    await connect("cache")


@app.on_startup
async def open_queue():
    await connect("queue")


@app.on_shutdown
async def close_database():
    await disconnect("database")


@app.on_shutdown
async def close_cache():
    await disconnect("cache")


@app.on_shutdown
async def close_queue():
    await disconnect("queue")


@app.route("/")
async def home(request):
    return app.database
