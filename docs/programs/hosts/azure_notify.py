"""Azure Functions, AsgiMiddleware, told of startup and shutdown."""

import contextlib

import azure.functions as func
from shop import app

middleware = func.AsgiMiddleware(app)


async def main(request, context=None):
    """Handle a request, as the function of a project does."""
    return await middleware.handle_async(request, context)


@contextlib.asynccontextmanager
async def host():
    """Start it, and call the function as the worker does: all calls in one event loop."""
    await middleware.notify_startup()

    async def get():
        request = func.HttpRequest("GET", "https://shop.example/", body=b"")
        return (await main(request)).status_code

    yield get
    await middleware.notify_shutdown()
