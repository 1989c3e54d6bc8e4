"""A Quart application is mounted, and another one that the lifespan starts by hand."""

import contextlib

from quart import Quart
from starlette.applications import Starlette
from starlette.routing import Mount

inner, other = Quart("inner"), Quart("other")


@inner.before_serving
async def open_pool():
    print("never")


@other.before_serving
async def connect():
    print("by hand")


@contextlib.asynccontextmanager
async def lifespan(_):
    await other.startup()
    yield
    await other.shutdown()


app = Starlette(lifespan=lifespan, routes=[Mount("/inner", inner), Mount("/other", other)])
