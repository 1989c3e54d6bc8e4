"""FastHTML, with an application mounted in it."""

from fasthtml_lifespan import app
from resources import inner

app.mount("/inner", inner)
