"""Responder, with an application mounted in it."""

from resources import inner
from responder_lifespan import app

app.mount("/inner", inner)
