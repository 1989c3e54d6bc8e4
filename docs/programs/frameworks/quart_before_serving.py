"""Quart, with before_serving and after_serving."""

from quart import Quart
from resources import connect, disconnect

app = Quart(__name__)


@app.before_serving
async def open_database():
    app.database = await connect("database")


@app.before_serving
async def open_cache():
    await connect("cache")


@app.before_serving
async def open_queue():
    await connect("queue")


@app.after_serving
async def close_database():
    await disconnect("database")


@app.after_serving
async def close_cache():
    await disconnect("cache")


@app.after_serving
async def close_queue():
    await disconnect("queue")


@app.get("/")
async def home():
    return app.database
