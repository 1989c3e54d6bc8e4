"""The same in a server of the MCP SDK, by its own `run`."""

import sys

import troubles
from mcp.server import MCPServer

mcp = MCPServer("shop", lifespan=troubles.lifespan)

if __name__ == "__main__":
    mcp.run("streamable-http", port=int(sys.argv[1]))
