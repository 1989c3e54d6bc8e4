"""Startup fails: no server that waits for startup serves this application."""


async def open_pool():
    """Connect to a database that does not answer."""
    raise OSError("no database at db-1")


async def app(scope, receive, send):
    """Report the failure once, and raise it."""
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    await receive()
    try:
        await open_pool()
    except OSError as error:
        event = {"type": "lifespan.startup.failed", "message": str(error)}
        await send(event)  # hypercorn, mangum and quart raise here
        raise  # test clients look for an exception
