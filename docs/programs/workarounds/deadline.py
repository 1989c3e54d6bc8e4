"""A startup that hangs ends by itself, whatever the server's timeout is."""

import asyncio


async def open_pool():
    """Connect to a database that does not answer."""
    await asyncio.Event().wait()


async def app(scope, receive, send):
    """Give up after a second; choose a time that fits your application."""
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    await receive()
    try:
        async with asyncio.timeout(1):
            await open_pool()
    except TimeoutError:
        text = "the database did not answer within 1 s"
        await send({"type": "lifespan.startup.failed", "message": text})
        raise
