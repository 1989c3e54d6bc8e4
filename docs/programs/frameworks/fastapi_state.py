"""FastAPI, where middleware, a WebSocket and a background task use it."""

from fastapi import BackgroundTasks, FastAPI, Request, WebSocket
from fastapi_lifespan import lifespan
from resources import seen

app = FastAPI(lifespan=lifespan)


@app.middleware("http")
async def middleware(request: Request, call_next):
    seen("middleware", request.state.database)
    return await call_next(request)


def later(request: Request):
    seen("background task", request.state.database)


@app.get("/")
async def home(request: Request, tasks: BackgroundTasks) -> str:
    tasks.add_task(later, request)
    return request.state.database


@app.websocket("/socket")
async def socket(websocket: WebSocket):
    seen("WebSocket", websocket.state.database)
    await websocket.accept()
    await websocket.close()
