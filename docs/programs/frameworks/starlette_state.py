"""Starlette, where middleware, a WebSocket and a background task use it."""

from resources import seen
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette_lifespan import lifespan


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
    task = BackgroundTask(later, request)
    return PlainTextResponse(request.state.database, background=task)


async def socket(websocket):
    seen("WebSocket", websocket.state.database)
    await websocket.accept()
    await websocket.close()


app = Starlette(
    lifespan=lifespan,
    middleware=[Middleware(Sees)],
    routes=[Route("/", home), WebSocketRoute("/socket", socket)],
)
