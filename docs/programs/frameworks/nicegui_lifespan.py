"""NiceGUI in FastAPI, with lifespan= of FastAPI."""

import contextlib

from fastapi import FastAPI, Request
from nicegui import ui
from resources import connection


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI):
    async with (
        connection("database") as database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": database}


app = FastAPI(lifespan=lifespan)


@app.get("/")
async def home(request: Request) -> str:
    return request.state.database


ui.run_with(app, mount_path="/gui")
