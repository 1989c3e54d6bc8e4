"""Responder without hooks, with an application mounted in it."""

import responder
from resources import inner

app = responder.API()
app.mount("/inner", inner)
