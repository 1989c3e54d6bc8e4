"""Add the versions that a test client leaves out of the lifespan scope."""


def with_versions(app):
    """Wrap an application that reads `scope["asgi"]`."""

    async def wrapped(scope, receive, send):
        if scope["type"] == "lifespan":
            versions = {"version": "3.0", "spec_version": "2.0"}
            scope["asgi"] = versions | scope.get("asgi", {})
        await app(scope, receive, send)

    return wrapped


async def shop(scope, receive, send):
    """Look at the versions, as some frameworks do."""
    if scope["type"] == "lifespan":
        print("ASGI", scope["asgi"]["version"], flush=True)
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "http":
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": []})
        # quart's client needs more_body, which is optional
        body = {"type": "http.response.body", "body": b"served"}
        await send({**body, "more_body": False})
    else:
        raise NotImplementedError(scope["type"])


app = with_versions(shop)
