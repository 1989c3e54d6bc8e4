"""What an application opens and closes: a database, a cache, a model."""

import asyncio
import contextlib


async def connect(name):
    """Open a resource; return it."""
    print("connect", name, flush=True)
    return name


async def disconnect(name):
    """Close a resource."""
    print("disconnect", name, flush=True)


@contextlib.asynccontextmanager
async def connection(name):
    """Open a resource, and close it at the end."""
    resource = await connect(name)
    try:
        yield resource
    finally:
        await disconnect(name)


async def work():
    """Fail while the application serves."""
    await asyncio.sleep(0.1)
    raise OSError("no orders")


def seen(where, value):
    """Tell where a value of the state is seen."""
    print("sees", where, value, flush=True)


async def inner(scope, receive, send):
    """Be mounted in another application, with a resource of its own."""
    if scope["type"] == "lifespan":
        await receive()
        await connect("inner")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await disconnect("inner")
        await send({"type": "lifespan.shutdown.complete"})
    else:
        body = f"state: {', '.join(scope.get('state', {}))}".encode()
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        await send({"type": "http.response.body", "body": body})
