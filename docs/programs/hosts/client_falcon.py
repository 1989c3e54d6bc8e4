"""Falcon, ASGIConductor."""

import contextlib

from falcon.testing import ASGIConductor
from shop import app


@contextlib.asynccontextmanager
async def host():
    """Use the conductor as a test does."""
    async with ASGIConductor(app) as conductor:

        async def get():
            return (await conductor.get("/")).status_code

        yield get
