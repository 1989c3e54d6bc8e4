"""https://github.com/fastapi/fastapi/issues/811: a mounted application's handler never runs."""

from fastapi import FastAPI

orders = FastAPI()
app = FastAPI()
app.mount("/orders", orders)


@orders.on_event("startup")
async def open_orders():
    pass


@app.on_event("startup")
async def open_shop():
    pass
