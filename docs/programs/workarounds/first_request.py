"""Start an application with its first request, if its server does not."""

import asyncio

from lifespec import Lifespan


class StartWithFirstRequest:
    """Run the startup of an application; its shutdown never runs."""

    def __init__(self, app):
        self.lifespan = Lifespan(app, startup_timeout=10)
        self.lock = asyncio.Lock()
        self.started = False

    async def __call__(self, scope, receive, send):
        """Let requests wait for startup."""
        async with self.lock:
            if not self.started:
                await self.lifespan.startup()
                self.started = True
        await self.lifespan.app(scope, receive, send)


async def shop(scope, receive, send):
    """Open a pool at startup."""
    if scope["type"] == "lifespan":
        await receive()
        print("open the pool", flush=True)
        scope["state"]["pool"] = b"served"
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    else:
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        body = scope["state"]["pool"]
        await send({"type": "http.response.body", "body": body})


app = StartWithFirstRequest(shop)
