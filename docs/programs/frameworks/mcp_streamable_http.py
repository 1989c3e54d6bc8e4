"""The MCP SDK: with lifespan= of the MCP server."""

import contextlib

from mcp.server import MCPServer
from resources import connection
from starlette.responses import PlainTextResponse


@contextlib.asynccontextmanager
async def lifespan(server):
    async with (
        connection("database") as server.database,
        connection("cache"),
        connection("queue"),
    ):
        yield {"database": server.database}


mcp = MCPServer("shop", lifespan=lifespan)


@mcp.custom_route("/", methods=["GET"])
async def home(request):
    return PlainTextResponse(mcp.database)


app = mcp.streamable_http_app()
