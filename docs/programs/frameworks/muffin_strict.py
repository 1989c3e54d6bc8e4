"""Muffin, so that a failed hook ends the startup."""

from muffin_on_startup import app

app.lifespan.ignore_errors = False
