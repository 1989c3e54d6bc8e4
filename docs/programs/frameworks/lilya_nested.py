"""Lilya, with an application of Lilya included in it."""

import contextlib

from lilya.apps import ChildLilya, Lilya
from lilya.routing import Include
from lilya_lifespan import lifespan
from resources import connection


@contextlib.asynccontextmanager
async def open_nested(app):
    async with connection("nested"):
        yield


nested = ChildLilya(lifespan=open_nested)
app = Lilya(lifespan=lifespan, routes=[Include("/nested", app=nested)])
