"""MicroPie, with startup_handlers and shutdown_handlers."""

from micropie import App
from resources import connect, disconnect


class Shop(App):
    async def index(self):
        return self.database


app = Shop()


async def open_database():
    app.database = await connect("database")


async def open_cache():
    await connect("cache")


async def open_queue():
    await connect("queue")


async def close_database():
    await disconnect("database")


async def close_cache():
    await disconnect("cache")


async def close_queue():
    await disconnect("queue")


app.startup_handlers += [open_database, open_cache, open_queue]
app.shutdown_handlers += [close_database, close_cache, close_queue]
