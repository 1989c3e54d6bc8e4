"""Azure Functions, AsgiFunctionApp, with one lifespan for each instance."""

import asyncio

import azure.functions as func
import azure_function_app
import shop

from lifespec import Lifespan

lifespan = Lifespan(shop.app, startup_timeout=10)
starts = []


async def app(scope, receive, send):
    """Answer each startup of the platform, but start the application once."""
    if scope["type"] != "lifespan":
        await lifespan.app(scope, receive, send)
        return
    if not starts:
        starts.append(asyncio.create_task(lifespan.startup()))
    while (await receive())["type"] == "lifespan.startup":
        try:
            await asyncio.shield(starts[0])
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.startup.complete"})


functions = func.AsgiFunctionApp(app, func.AuthLevel.ANONYMOUS)
azure_function_app.functions = functions
host = azure_function_app.host
