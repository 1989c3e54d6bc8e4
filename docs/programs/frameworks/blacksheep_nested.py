"""BlackSheep, with an application of BlackSheep mounted in it."""

from blacksheep import Application, Router
from blacksheep_lifespan import app
from resources import connect, disconnect

nested = Application(router=Router())


@nested.on_start
async def open_nested(application):
    await connect("nested")


@nested.on_stop
async def close_nested(application):
    await disconnect("nested")


app.mount("/nested", nested)
