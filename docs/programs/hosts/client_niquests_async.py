"""niquests, AsyncSession."""

import contextlib

import niquests
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the session as a test does."""
    async with niquests.AsyncSession(app=app) as session:

        async def get():
            return (await session.get("/")).status_code

        yield get
