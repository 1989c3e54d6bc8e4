"""Responder, with lifespan= and functions of on_event."""

from resources import connect, disconnect
from responder_lifespan import app


@app.on_event("startup")
async def open_hook():
    await connect("hook")


@app.on_event("shutdown")
async def close_hook():
    await disconnect("hook")
