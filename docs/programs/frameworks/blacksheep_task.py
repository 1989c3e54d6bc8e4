"""BlackSheep, with a task that serves until the shutdown."""

import asyncio

from blacksheep import Application
from resources import connection, work

app = Application()


@app.lifespan
async def resources():
    async with connection("database"):
        task = asyncio.create_task(work())
        yield
        task.cancel()
