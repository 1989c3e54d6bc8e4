"""An engine for the application, and a transaction for each request."""

import asyncio
import contextlib
import os
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine


@contextlib.asynccontextmanager
async def lifespan(app):
    engine = create_async_engine(os.environ["DATABASE"])
    try:
        async with asyncio.timeout(30), engine.connect() as connection:
            await connection.execute(text("SELECT number FROM stock LIMIT 1"))
        yield {"sessions": async_sessionmaker(engine)}
    finally:
        await engine.dispose()


async def transaction(request: Request):
    async with request.state.sessions.begin() as session:
        yield session


app = FastAPI(lifespan=lifespan)


@app.post("/sell")
async def sell(session: Annotated[AsyncSession, Depends(transaction, scope="function")]):
    sold = text("UPDATE stock SET number = number - 1 RETURNING number")
    return {"left": (await session.execute(sold)).scalar_one()}
