"""async-asgi-testclient."""

import contextlib

from async_asgi_testclient import TestClient
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the client as a test does."""
    async with TestClient(app) as client:

        async def get():
            return (await client.get("/")).status_code

        yield get
