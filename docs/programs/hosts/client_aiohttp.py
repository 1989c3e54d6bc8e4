"""aiohttp-asgi-connector: a session of aiohttp for an application."""

import contextlib

import aiohttp
from aiohttp_asgi_connector import ASGIApplicationConnector
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the session as a test does."""
    connector = ASGIApplicationConnector(app)
    async with aiohttp.ClientSession("http://shop.example", connector=connector) as session:

        async def get():
            async with session.get("/") as response:
                return response.status

        yield get
