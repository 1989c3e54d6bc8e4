"""Quart, with before_serving, and a blueprint with before_app_serving."""

from quart import Blueprint
from quart_before_serving import app
from resources import connect, disconnect

blueprint = Blueprint("router", __name__)


@blueprint.before_app_serving
async def open_router():
    await connect("router")


@blueprint.after_app_serving
async def close_router():
    await disconnect("router")


app.register_blueprint(blueprint)
