"""A framework sends only the text of the exception."""

import os

from quart import Quart

app = Quart(__name__)


@app.before_serving
async def start():
    os.environ["DATABASE_URL_OF_SHOP"]
