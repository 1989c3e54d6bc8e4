"""State that works on every server that provides state: one object, set during startup."""


class Shop:
    """What requests share; they change this object and not the state."""

    requests = 0


async def app(scope, receive, send):
    """Count requests."""
    if scope["type"] == "lifespan":
        shop = scope["state"]["shop"] = Shop()
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        # the variable: a server may have emptied scope["state"] by now
        print("requests:", shop.requests, flush=True)
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "http":
        scope["state"]["shop"].requests += 1
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})
    else:
        raise NotImplementedError(scope["type"])
