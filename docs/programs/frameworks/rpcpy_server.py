"""rpc.py: it has no hooks for startup and shutdown."""

from rpcpy import RPC

app = RPC(mode="ASGI", openapi={"title": "shop", "version": "1"})


@app.register
async def home() -> str:
    return "no database"
