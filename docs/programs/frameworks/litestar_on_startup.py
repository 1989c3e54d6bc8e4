"""Litestar, with on_startup= and on_shutdown=."""

from litestar import Litestar, get
from litestar.datastructures import State
from resources import connect, disconnect


async def open_database(app: Litestar) -> None:
    app.state.database = await connect("database")


async def open_cache() -> None:
    await connect("cache")


async def open_queue() -> None:
    await connect("queue")


async def close_database() -> None:
    await disconnect("database")


async def close_cache() -> None:
    await disconnect("cache")


async def close_queue() -> None:
    await disconnect("queue")


@get("/")
async def home(state: State) -> str:
    return state.database


app = Litestar(
    [home],
    on_startup=[open_database, open_cache, open_queue],
    on_shutdown=[close_database, close_cache, close_queue],
)
