"""Ports of this machine, and requests to who listens there, for tests of real servers."""

import socket
import urllib.error
import urllib.request

__all__ = ["asked", "free_port"]


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def asked(port: int) -> str | None:
    """Make a request; return the body, with the status of an error, or None if nobody answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError:
        return None
