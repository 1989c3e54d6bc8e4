"""Flama, with lifespan=."""

import contextlib

from flama import Flama
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with (
        connection("database") as app.database,
        connection("cache"),
        connection("queue"),
    ):
        yield


app = Flama(lifespan=lifespan)


@app.route("/")
def home():
    return {"database": app.database}
