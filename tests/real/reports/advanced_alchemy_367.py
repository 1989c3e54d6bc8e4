"""https://github.com/litestar-org/advanced-alchemy/issues/367: handlers beside a lifespan."""

from contextlib import asynccontextmanager

from fastapi import FastAPI


@asynccontextmanager
async def lifespan(app):
    yield


async def open_engine():
    pass


app = FastAPI(lifespan=lifespan)
app.router.add_event_handler("startup", open_engine)
