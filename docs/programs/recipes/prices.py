"""Prices of the state, for functions that answer requests and WebSockets."""

import contextlib
from typing import Annotated

from fastapi import Depends, FastAPI, WebSocket
from fastapi.requests import HTTPConnection


@contextlib.asynccontextmanager
async def lifespan(app):
    yield {"prices": {"apples": 3}}


def state_prices(connection: HTTPConnection):
    return connection.state.prices


Prices = Annotated[dict[str, int], Depends(state_prices)]
app = FastAPI(lifespan=lifespan)


@app.get("/apples")
async def price(prices: Prices):
    return prices["apples"]


@app.websocket("/apples")
async def watch(websocket: WebSocket, prices: Prices):
    await websocket.accept()
    await websocket.send_json(prices["apples"])
    await websocket.close()
