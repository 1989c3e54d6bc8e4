"""FastAPI, with lifespan= and a function of on_event."""

from fastapi_lifespan import app
from resources import connect, disconnect


@app.on_event("startup")
async def open_hook():
    await connect("hook")


@app.on_event("shutdown")
async def close_hook():
    await disconnect("hook")
