"""One lifespan for each instance of a function, not for each event."""

import asyncio
import atexit

from mangum import Mangum

from lifespec import Lifespan


async def app(scope, receive, send):
    """Open a pool at startup."""
    if scope["type"] == "lifespan":
        await receive()
        print("open the pool", flush=True)
        scope["state"]["pool"] = b"served"
        await send({"type": "lifespan.startup.complete"})
        await receive()
        print("close the pool", flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    else:
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        body = scope["state"]["pool"]
        await send({"type": "http.response.body", "body": body})


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
lifespan = Lifespan(app, startup_timeout=10)
loop.run_until_complete(lifespan.startup())
atexit.register(lambda: loop.run_until_complete(lifespan.shutdown()))
handler = Mangum(lifespan.app, lifespan="off")
