"""asgi-testclient."""

import contextlib

from asgi_testclient import TestClient
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the client as a test does."""
    client = TestClient(app)

    async def get():
        return (await client.get("/")).status_code

    yield get
