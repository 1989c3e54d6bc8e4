import sqlite3

import httpx
import pytest
from orders import app

from lifespec import StartupFailed

pytestmark = pytest.mark.asyncio


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE", f"sqlite+aiosqlite:///{tmp_path}/orders.db")
    with sqlite3.connect(tmp_path / "orders.db") as database:
        yield database
    database.close()


async def test_sell(lifespan, database):
    database.execute("CREATE TABLE stock AS SELECT 12 AS number")
    async with lifespan(app) as running:
        transport = httpx.ASGITransport(running.app)
        async with httpx.AsyncClient(transport=transport) as client:
            response = await client.post("http://shop.example/sell")
    assert response.json() == {"left": 11}
    assert database.execute("SELECT number FROM stock").fetchone() == (11,)


async def test_commit_before_response(lifespan, database):
    async def send(event):
        seen.append(database.execute("SELECT number FROM stock").fetchone())

    database.execute("CREATE TABLE stock AS SELECT 12 AS number")
    seen = []
    scope = {"type": "http", "method": "POST", "path": "/sell", "headers": []}
    async with lifespan(app) as running:
        await running.app(scope | {"query_string": b""}, None, send)
    assert seen[0] == (11,)


async def test_no_table(lifespan, database):
    with pytest.raises(StartupFailed, match="no such table: stock"):
        async with lifespan(app):
            pass
