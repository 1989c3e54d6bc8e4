"""MicroPie, with handlers that close what was opened."""

import contextlib

from micropie import App
from resources import connection


class Shop(App):
    async def index(self):
        return self.database


app = Shop()
opened = contextlib.AsyncExitStack()


async def open_resources():
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        app.database = await enter(connection("database"))
        await enter(connection("cache"))
        await enter(connection("queue"))
        opened.push_async_exit(stack.pop_all())


async def close_resources():
    await opened.aclose()


app.startup_handlers.append(open_resources)
app.shutdown_handlers.append(close_resources)
