"""python-socketio, with functions that log, and close what was opened."""

import contextlib
import logging

import socketio
from resources import connection

logger = logging.getLogger("shop")
opened = contextlib.AsyncExitStack()


async def open_resources():
    try:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(connection("database"))
            await stack.enter_async_context(connection("cache"))
            await stack.enter_async_context(connection("queue"))
            opened.push_async_exit(stack.pop_all())
    except Exception:
        logger.exception("The resources could not be opened")
        raise


async def close_resources():
    await opened.aclose()


app = socketio.ASGIApp(
    socketio.AsyncServer(async_mode="asgi"),
    on_startup=open_resources,
    on_shutdown=close_resources,
)
