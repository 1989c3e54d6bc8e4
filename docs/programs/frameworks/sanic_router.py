"""Sanic, with a blueprint that has listeners."""

from resources import connect, disconnect
from sanic import Blueprint
from sanic_listeners import app

blueprint = Blueprint("router")


@blueprint.before_server_start
async def open_router(app, loop):
    await connect("router")


@blueprint.after_server_stop
async def close_router(app, loop):
    await disconnect("router")


app.blueprint(blueprint)
