"""python-socketio, with on_startup= and on_shutdown=."""

import socketio
from resources import connect, disconnect


async def open_resources():
    await connect("database")
    await connect("cache")
    await connect("queue")


async def close_resources():
    await disconnect("queue")
    await disconnect("cache")
    await disconnect("database")


app = socketio.ASGIApp(
    socketio.AsyncServer(async_mode="asgi"),
    on_startup=open_resources,
    on_shutdown=close_resources,
)
