"""A module is given as the lifespan."""

import contextlib as lifespan

from fastapi import FastAPI

app = FastAPI(lifespan=lifespan)
