"""Serves the application of a program that starts no server itself, as a page shows it."""

from __future__ import annotations

from typing import Any

from lifespec import server

__all__ = ["serve"]


async def serve(app: Any) -> None:
    """Start an application, print what it answers to one request, and stop it."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    line = {"method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "root_path": ""}
    scope = {"type": "http", "http_version": "1.1", "scheme": "http", **line, "headers": []}
    async with server.Lifespan(app) as lifespan:
        await lifespan.app(scope, receive, send)
        start, *parts = sent
        body = b"".join(each["body"] for each in parts).decode()
        print(f"GET / → {start['status']} {body}")  # noqa: T201  what the page shows
