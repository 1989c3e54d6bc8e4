"""An application for trio."""

import trio


async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        raise ValueError(scope["type"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0.01)
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
