"""A FastAPI application with an MCP server below /tools."""

from fastapi import FastAPI
from mcp.server import MCPServer

from lifespec import combine_lifespans

mcp = MCPServer("stock")


@mcp.tool()
def count(article: str) -> int:
    """Say how many of an article there are."""
    return {"apples": 12}[article]


api = FastAPI()
tools = mcp.streamable_http_app()
api.mount("/tools", tools)
app = combine_lifespans(api, tools)
