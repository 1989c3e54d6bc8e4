"""BlackSheep, with lifespan, on_start and on_stop."""

from blacksheep_lifespan import app
from resources import connect, disconnect


@app.on_start
async def open_hook(application):
    await connect("hook")


@app.on_stop
async def close_hook(application):
    await disconnect("hook")
