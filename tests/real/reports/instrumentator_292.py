"""https://github.com/trallnag/prometheus-fastapi-instrumentator/issues/292: late middleware."""

from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware


@asynccontextmanager
async def lifespan(app):
    app.add_middleware(GZipMiddleware)
    yield


app = FastAPI(lifespan=lifespan)
