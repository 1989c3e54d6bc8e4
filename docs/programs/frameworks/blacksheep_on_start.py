"""BlackSheep, with on_start and on_stop."""

from blacksheep import Application, get
from resources import connect, disconnect

app = Application()


@app.on_start
async def open_database(application):
    application.database = await connect("database")


@app.on_start
async def open_cache(application):
    await connect("cache")


@app.on_start
async def open_queue(application):
    await connect("queue")


@app.on_stop
async def close_database(application):
    await disconnect("database")


@app.on_stop
async def close_cache(application):
    await disconnect("cache")


@app.on_stop
async def close_queue(application):
    await disconnect("queue")


@get("/")
async def home():
    return app.database
