"""Starlette, with an application mounted in it."""

from resources import inner
from starlette_lifespan import app

app.mount("/inner", inner)
