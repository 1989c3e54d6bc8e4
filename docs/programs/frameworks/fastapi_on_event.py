"""FastAPI, with on_event."""

from fastapi import FastAPI, Request
from resources import connect, disconnect

app = FastAPI()


@app.on_event("startup")
async def open_database():
    app.state.database = await connect("database")


@app.on_event("startup")
async def open_cache():
    app.state.cache = await connect("cache")


@app.on_event("startup")
async def open_queue():
    app.state.queue = await connect("queue")


@app.on_event("shutdown")
async def close_database():
    await disconnect("database")


@app.on_event("shutdown")
async def close_cache():
    await disconnect("cache")


@app.on_event("shutdown")
async def close_queue():
    await disconnect("queue")


@app.get("/")
async def home(request: Request) -> str:
    return request.app.state.database
