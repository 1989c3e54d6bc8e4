"""Quart, with while_serving, and a blueprint with while_app_serving."""

from quart import Blueprint
from quart_while_serving import app
from resources import connection

blueprint = Blueprint("router", __name__)


@blueprint.while_app_serving
async def router():
    async with connection("router"):
        yield


app.register_blueprint(blueprint)
