"""FastHTML, with lifespan=, which takes an asynchronous generator."""

from fasthtml.common import FastHTML
from resources import connection


async def lifespan(app):
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


app = FastHTML(lifespan=lifespan, secret_key="change me")


@app.get("/")
async def home(request):
    return request.state.database
