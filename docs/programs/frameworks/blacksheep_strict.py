"""BlackSheep, with one lifespan function for all resources."""

from blacksheep import Application, get
from resources import connection

app = Application()


@app.lifespan
async def resources():
    async with (
        connection("database") as app.database,
        connection("cache"),
        connection("queue"),
    ):
        yield


@get("/")
async def home():
    return app.database
