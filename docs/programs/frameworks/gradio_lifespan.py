"""Gradio in FastAPI, with lifespan= of FastAPI."""

import contextlib

import gradio
from fastapi import FastAPI, Request
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


with gradio.Blocks() as page:
    gradio.Markdown("A shop")

gradio.mount_gradio_app(app, page, path="/gui")
