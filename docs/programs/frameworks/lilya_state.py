"""Lilya, where middleware, a WebSocket and a background task use it."""

from lilya.apps import Lilya
from lilya.background import Task
from lilya.middleware import DefineMiddleware
from lilya.responses import PlainText
from lilya.routing import Path, WebSocketPath
from lilya_lifespan import lifespan
from resources import seen


class Sees:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            seen("middleware", scope["state"]["database"])
        await self.app(scope, receive, send)


async def later(request):
    seen("background task", request.state.database)


async def home(request):
    task = Task(later, request)
    return PlainText(request.state.database, background=task)


async def socket(websocket):
    seen("WebSocket", websocket.state.database)
    await websocket.accept()
    await websocket.close()


app = Lilya(
    lifespan=lifespan,
    middleware=[DefineMiddleware(Sees)],
    routes=[Path("/", home), WebSocketPath("/socket", socket)],
)
