"""Quart, with a task group that serves until the shutdown."""

import asyncio

from quart import Quart
from resources import connection, work

app = Quart(__name__)


@app.while_serving
async def resources():
    async with connection("database"), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work())
        yield
        task.cancel()
