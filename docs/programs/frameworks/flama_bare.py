"""Flama without hooks, with an application mounted in it."""

from flama import Flama
from resources import inner

app = Flama()
app.mount("/inner", inner)
