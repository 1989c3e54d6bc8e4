"""Flama, with an application of Flama mounted in it."""

import contextlib

import flama_twice
from flama import Flama
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("nested"):
        yield


flama_twice.flama.mount("/nested", Flama(lifespan=lifespan))
app = flama_twice.app
