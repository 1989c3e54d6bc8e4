import asyncio
import socket

import httpx
import pytest
import uvicorn
from mcp import Client
from tools import api, app

pytestmark = pytest.mark.asyncio


async def test_tool():
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/tools/mcp"
    server = uvicorn.Server(uvicorn.Config(app))
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve([listening]))
        try:
            async with Client(url) as client:
                found = await client.call_tool("count", {"article": "apples"})
        finally:
            server.should_exit = True
    assert found.content[0].text == "12"


async def test_not_combined(lifespan):
    async with lifespan(api) as running:
        transport = httpx.ASGITransport(running.app)
        async with httpx.AsyncClient(transport=transport) as client:
            with pytest.raises(RuntimeError, match="Task group is not initialized"):
                await client.post("http://127.0.0.1/tools/mcp")
