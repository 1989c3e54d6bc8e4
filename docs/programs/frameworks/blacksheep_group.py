"""BlackSheep, with a task group that serves until the shutdown."""

import asyncio

from blacksheep import Application
from resources import connection, work

app = Application()


@app.lifespan
async def resources():
    async with connection("database"), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        yield
        task.cancel()
