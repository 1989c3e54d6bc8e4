"""FastAPI, with on_event, and a router with on_event."""

from fastapi import APIRouter
from fastapi_on_event import app
from resources import connect, disconnect

router = APIRouter()


@router.on_event("startup")
async def open_router():
    await connect("router")


@router.on_event("shutdown")
async def close_router():
    await disconnect("router")


app.include_router(router)
