"""FastMCP, with lifespan=."""

from fastmcp import FastMCP
from fastmcp.server.lifespan import lifespan
from resources import connection
from starlette.responses import PlainTextResponse


@lifespan
async def resources(server):
    async with (
        connection("database") as server.database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": server.database}


mcp = FastMCP("shop", lifespan=resources)


@mcp.custom_route("/", methods=["GET"])
async def home(request):
    return PlainTextResponse(mcp.database)


app = mcp.http_app()
