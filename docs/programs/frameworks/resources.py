"""What an application opens and closes: a database, a cache, a model."""

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
