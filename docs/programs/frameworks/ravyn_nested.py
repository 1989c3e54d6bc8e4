"""Ravyn, with an application of Ravyn included in it."""

import contextlib

from ravyn import ChildRavyn, Include, Ravyn
from ravyn_lifespan import lifespan
from resources import connection


@contextlib.asynccontextmanager
async def open_nested(app):
    async with connection("nested"):
        yield


nested = ChildRavyn(lifespan=open_nested)
app = Ravyn(lifespan=lifespan, routes=[Include("/nested", app=nested)])
