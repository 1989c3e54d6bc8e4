"""A server that `lifespec watch` does not know, without an import of others, for Python 3.9."""

import asyncio


async def connect() -> None:
    await asyncio.Event().wait()


async def app(scope: object, receive: object, send: object) -> None:
    await connect()


asyncio.run(app({"type": "lifespan"}, print, print))
