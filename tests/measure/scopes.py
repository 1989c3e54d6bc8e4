"""The scope of a connection, for the programs that call an application themselves."""

from typing import Any


def connection(kind: str, path: str) -> dict[str, Any]:
    """Return the scope of a request, or of a WebSocket."""
    return {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "ws" if kind == "websocket" else kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"accept", b"*/*")],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        **({"subprotocols": []} if kind == "websocket" else {"method": "GET"}),
    }
