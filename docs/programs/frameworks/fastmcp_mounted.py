"""FastMCP, with an application mounted in it."""

from fastmcp_lifespan import app
from resources import inner

app.mount("/inner", inner)
