"""The same on trio."""

import os
import time
from typing import Any

import trio


async def app(scope: Any, receive: Any, send: Any) -> None:
    trouble = os.environ.get("TROUBLE")
    if scope["type"] == "lifespan":
        await receive()
        if trouble == "startup-waits":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if trouble == "clean-up-waits":
            await trio.sleep_forever()
        if trouble == "clean-up-blocks":
            time.sleep(60)  # noqa: ASYNC251
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while scope["path"] == "/board":
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await trio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"x"})
