"""Quart, with while_serving."""

from quart import Quart
from resources import connection

app = Quart(__name__)


@app.while_serving
async def database():
    async with connection("database") as app.database:
        yield


@app.while_serving
async def cache():
    async with connection("cache"):
        yield


@app.while_serving
async def queue():
    async with connection("queue"):
        yield


@app.get("/")
async def home():
    return app.database
