"""FastAPI without hooks, with an application mounted in it."""

from fastapi import FastAPI
from resources import inner

app = FastAPI()
app.mount("/inner", inner)
