"""A function builds another application of the routes of the author's."""

from contextlib import asynccontextmanager

from fastapi import FastAPI


@asynccontextmanager
async def depot(app):
    yield


def versioned(app):
    found = FastAPI()
    found.router.routes += app.routes
    return found


app = versioned(FastAPI(lifespan=depot))
