"""FastAPI, with lifespan= and two routers, of lifespan= and of on_event."""

import contextlib

from fastapi import APIRouter
from fastapi_lifespan import app
from resources import connect, connection, disconnect


@contextlib.asynccontextmanager
async def lifespan(app):
    async with connection("router"):
        yield


router, hooks = APIRouter(lifespan=lifespan), APIRouter()


@hooks.on_event("startup")
async def open_hook():
    await connect("hook")


@hooks.on_event("shutdown")
async def close_hook():
    await disconnect("hook")


app.include_router(router)
app.include_router(hooks)
