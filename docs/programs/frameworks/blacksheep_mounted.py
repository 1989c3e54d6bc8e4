"""BlackSheep, with an application mounted in it."""

from blacksheep_lifespan import app
from resources import inner

app.mount("/inner", inner)
