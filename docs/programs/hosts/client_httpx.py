"""httpx, ASGITransport."""

import contextlib

import httpx
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the client as a test does."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport) as client:

        async def get():
            return (await client.get("http://shop.example/")).status_code

        yield get
