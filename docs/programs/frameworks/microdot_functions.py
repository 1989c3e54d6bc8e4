"""Microdot, with lifespan_startup= and lifespan_shutdown=."""

from microdot.asgi import Microdot
from resources import connect, disconnect


async def startup(scope):
    scope["state"]["database"] = await connect("database")
    await connect("cache")
    await connect("queue")


async def shutdown(scope):
    await disconnect("queue")
    await disconnect("cache")
    await disconnect("database")


app = Microdot(lifespan_startup=startup, lifespan_shutdown=shutdown)


@app.get("/")
async def home(request):
    return request.asgi_scope["state"]["database"]
