"""Litestar, with one function of on_shutdown= for what is open."""

import contextlib

from litestar import Litestar
from litestar_on_startup import home
from resources import connection


async def open_resources(app: Litestar) -> None:
    app.state.opened = contextlib.AsyncExitStack()
    enter = app.state.opened.enter_async_context
    app.state.database = await enter(connection("database"))
    await enter(connection("cache"))
    await enter(connection("queue"))


async def close_resources(app: Litestar) -> None:
    await app.state.opened.aclose()


app = Litestar(
    [home], on_startup=[open_resources], on_shutdown=[close_resources]
)
