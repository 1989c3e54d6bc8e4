"""Flama, with an application mounted in it."""

import flama_twice
from resources import inner

flama_twice.flama.mount("/inner", inner)
app = flama_twice.app
