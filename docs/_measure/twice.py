"""The fixture's two starts of the application that a command would serve.

    python docs/_measure/twice.py COMMAND...

The command runs here until uvicorn would serve; its application is started twice in this process,
each time in a loop of its own and with a request, as in two tests.  Each statement of the fixture
is a line of standard error, JSON after the sign 0x1E.
"""

import asyncio
import json
import os
import runpy
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import uvicorn

from lifespec.testing import Running
from records import connection

LIMIT = 120.0  # seconds


class Served(BaseException):
    """The application that uvicorn would serve now."""


def serve(server: uvicorn.Server, *_: Any, **__: Any) -> NoReturn:
    """Do not serve."""
    config = server.config
    config.proxy_headers = False
    if not config.loaded:
        config.load()
    app = config.loaded_app
    if type(app).__name__ == "ProxyHeadersMiddleware":
        app = app.app
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        start_twice(app)
    raise Served(app)  # this thread can run no other loop before this one has ended


def application(words: list[str]) -> Any:
    """Run a command until it would serve; return its application, None if it serves elsewhere."""
    program, *arguments = words
    if program == "python":
        program, *arguments = arguments
    path = shutil.which(program) or program
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(path).parent)
    uvicorn.Server.run = uvicorn.Server.serve = serve  # type: ignore[assignment,method-assign]
    try:
        runpy.run_path(path, run_name="__main__")
    except Served as served:
        return served.args[0]
    except SystemExit:
        return None
    return None


async def once(app: Any) -> None:
    """Start and stop it around a request, as a test does."""
    events = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if events:
            return events.pop()
        await asyncio.sleep(LIMIT)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            say(answered=message["status"])

    async with Running(app, startup_timeout=LIMIT, shutdown_timeout=LIMIT) as running:
        await asyncio.wait_for(running.app(connection("http", "/"), receive, send), LIMIT)


def say(**what: Any) -> None:
    """Write what happened."""
    sys.stderr.write(f"\n\x1e{json.dumps(what)}\n")
    sys.stderr.flush()


def start_twice(app: Any) -> NoReturn:
    """Start an application twice, and end the process, whatever was left behind."""
    for count in ("first", "second"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                asyncio.run(once(app))
            except BaseException as error:
                notes = "; ".join(getattr(error, "__notes__", []))
                text = f"{type(error).__name__}: {error} {notes}".partition("\n")[0]
                say(says=f"{count} start: {text}".rstrip())
        for warning in caught:
            if warning.category.__name__ == "LifespanWarning":
                say(says=f"{count} start: {warning.message}")
    say(over=True)
    os._exit(0)


def main(words: list[str]) -> None:
    """Start the application of a command twice."""
    app = application(words)
    if app is None:
        say(over=True, says="not tried: it serves in another process than that of its command")
    else:
        start_twice(app)


if __name__ == "__main__":
    main(sys.argv[1:])
