"""Quart, with one function of while_serving for all resources."""

from quart import Quart
from resources import connection

app = Quart(__name__)


@app.while_serving
async def resources():
    async with (
        connection("database") as app.database,
        connection("cache"),
        connection("queue"),
    ):
        yield


@app.get("/")
async def home():
    return app.database
