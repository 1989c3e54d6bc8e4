"""An application without lifespan support raises on the lifespan scope."""


async def app(scope, receive, send):
    """Answer requests."""
    if scope["type"] == "lifespan":
        raise NotImplementedError("no lifespan support")
    start = {"type": "http.response.start", "status": 200}
    await send({**start, "headers": []})
    await send({"type": "http.response.body", "body": b"served"})
