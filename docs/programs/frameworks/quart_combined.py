"""Quart, with while_serving, before_serving and after_serving."""

from quart_while_serving import app
from resources import connect, disconnect


@app.before_serving
async def open_hook():
    await connect("hook")


@app.after_serving
async def close_hook():
    await disconnect("hook")
