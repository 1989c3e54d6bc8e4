"""Modal: what its container does around the function of an @asgi_app."""

import asyncio
import contextlib

from modal._runtime.asgi import asgi_app_wrapper
from modal._runtime.execution_context import _set_current_context_ids
from shop import app


class Requests:
    """Stands for Modal's service, which sends the bodies of requests."""

    class get_data_in:
        """Has one body, which is empty."""

        @staticmethod
        async def aio(*_):
            """Send the body."""
            yield {"type": "http.request", "body": b""}


@contextlib.asynccontextmanager
async def host():
    """Start the lifespan, call the function for each request, end the lifespan."""
    call, manager = asgi_app_wrapper(app, Requests())
    serving = asyncio.create_task(manager.background_task())
    await manager.lifespan_startup()

    async def get():
        _set_current_context_ids(["in-1"], ["fc-1"], ["token"])
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        async for event in call(scope):
            if event["type"] == "http.response.start":
                status = event["status"]
        return status

    try:
        yield get
    finally:
        await manager.lifespan_shutdown()
        serving.cancel()
