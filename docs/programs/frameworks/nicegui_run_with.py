"""NiceGUI in FastAPI, with on_startup and on_shutdown."""

from fastapi import FastAPI
from nicegui import app as gui
from nicegui import ui
from resources import connect, disconnect

app = FastAPI()


@gui.on_startup
async def open_database():
    app.state.database = await connect("database")


@gui.on_startup
async def open_cache():
    await connect("cache")


@gui.on_startup
async def open_queue():
    await connect("queue")


@gui.on_shutdown
async def close_database():
    await disconnect("database")


@gui.on_shutdown
async def close_cache():
    await disconnect("cache")


@gui.on_shutdown
async def close_queue():
    await disconnect("queue")


@app.get("/")
async def home():
    return app.state.database


ui.run_with(app, mount_path="/gui")
