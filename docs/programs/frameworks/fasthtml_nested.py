"""FastHTML, with an application of FastHTML mounted in it."""

from fasthtml.common import FastHTML
from fasthtml_lifespan import app
from resources import connection


async def lifespan(app):
    async with connection("nested"):
        yield


app.mount("/nested", FastHTML(lifespan=lifespan))
