"""Starlette without hooks, with an application mounted in it."""

from resources import inner
from starlette.applications import Starlette

app = Starlette()
app.mount("/inner", inner)
