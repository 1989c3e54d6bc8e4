"""The same in FastAPI, for its own command."""

import troubles
from fastapi import FastAPI

app = FastAPI(lifespan=troubles.lifespan)
app.router.routes += troubles.app.routes
