"""Responder, with lifespan=."""

import contextlib

import responder
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with (
        connection("database") as app.state.database,
        connection("cache"),
        connection("queue"),
    ):
        yield


app = responder.API(lifespan=lifespan)


@app.route("/")
async def home(request, response):
    response.text = app.state.database
