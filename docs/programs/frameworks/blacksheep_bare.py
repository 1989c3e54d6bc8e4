"""BlackSheep without hooks, with an application mounted in it."""

from blacksheep import Application
from resources import inner

app = Application()
app.mount("/inner", inner)
