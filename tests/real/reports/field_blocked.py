"""A call that blocks in C, in the clean-up of a lifespan of FastAPI."""

import sqlite3
from contextlib import asynccontextmanager

from fastapi import FastAPI

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@asynccontextmanager
async def lifespan(app):
    yield
    sqlite3.connect(":memory:").execute(ENDLESS).fetchall()


app = FastAPI(lifespan=lifespan)
