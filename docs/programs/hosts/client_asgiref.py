"""asgiref, ApplicationCommunicator: the test sends the events itself."""

import contextlib

from asgiref.testing import ApplicationCommunicator
from shop import app

HTTP = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}


@contextlib.asynccontextmanager
async def host():
    """Send startup, and shutdown after the requests; wait a second for each answer."""
    state = {}
    lifespan = ApplicationCommunicator(app, {"type": "lifespan", "state": state})
    await lifespan.send_input({"type": "lifespan.startup"})
    answer = await lifespan.receive_output()
    assert answer["type"] == "lifespan.startup.complete", answer

    async def get():
        request = ApplicationCommunicator(app, {**HTTP, "state": state.copy()})
        await request.send_input({"type": "http.request", "body": b""})
        return (await request.receive_output())["status"]

    yield get
    await lifespan.send_input({"type": "lifespan.shutdown"})
    answer = await lifespan.receive_output()
    assert answer["type"] == "lifespan.shutdown.complete", answer
    await lifespan.wait()
