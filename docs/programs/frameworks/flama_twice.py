"""Flama, called once for startup and once for shutdown."""

from flama_lifespan import app as flama


async def app(scope, receive, send):
    await flama(scope, receive, send)
    if scope["type"] == "lifespan":
        await flama(scope, receive, send)
