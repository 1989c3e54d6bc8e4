"""Flama, with functions for the events startup and shutdown."""

from flama import Flama
from resources import connect, disconnect

app = Flama()


@app.on_event("startup")
async def open_database():
    app.database = await connect("database")


@app.on_event("startup")
async def open_cache():
    await connect("cache")


@app.on_event("startup")
async def open_queue():
    await connect("queue")


@app.on_event("shutdown")
async def close_database():
    await disconnect("database")


@app.on_event("shutdown")
async def close_cache():
    await disconnect("cache")


@app.on_event("shutdown")
async def close_queue():
    await disconnect("queue")


@app.route("/")
def home():
    return {"database": app.database}
