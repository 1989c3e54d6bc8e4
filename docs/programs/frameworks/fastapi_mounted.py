"""FastAPI, with an application mounted in it."""

from fastapi_lifespan import app
from resources import inner

app.mount("/inner", inner)
