"""https://github.com/modelcontextprotocol/python-sdk/issues/1467: a server of MCP is mounted."""

from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.routing import Mount

server = MCPServer("shop")
app = Starlette(routes=[Mount("/mcp", app=server.streamable_http_app())])
