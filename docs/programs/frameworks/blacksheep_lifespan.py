"""BlackSheep, with lifespan."""

from blacksheep import Application, get
from resources import connection

app = Application()


@app.lifespan
async def database():
    async with connection("database") as app.database:
        yield


@app.lifespan
async def cache():
    async with connection("cache"):
        yield


@app.lifespan
async def queue():
    async with connection("queue"):
        yield


@get("/")
async def home():
    return app.database
