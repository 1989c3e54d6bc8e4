"""Microdot, with functions that close what was opened."""

import contextlib

from microdot.asgi import Microdot
from resources import connection

opened = contextlib.AsyncExitStack()


async def startup(scope):
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        scope["state"]["database"] = await enter(connection("database"))
        await enter(connection("cache"))
        await enter(connection("queue"))
        opened.push_async_exit(stack.pop_all())


async def shutdown(scope):
    await opened.aclose()


app = Microdot(lifespan_startup=startup, lifespan_shutdown=shutdown)


@app.get("/")
async def home(request):
    return request.asgi_scope["state"]["database"]
