"""FastMCP without hooks, with an application mounted in it."""

from fastmcp import FastMCP
from resources import inner

app = FastMCP("shop").http_app()
app.mount("/inner", inner)
