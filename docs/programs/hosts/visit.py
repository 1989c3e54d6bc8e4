"""Makes two requests through an adapter or a test client, and prints what came back.

    ASKED="startup fails" python visit.py mangum_auto

The argument is the module that uses the adapter or the test client, with the
application of shop.py. With "startup is slow" or "two at once" both requests
come at once, unless the module says that there is only one at a time.
"""

import asyncio
import importlib
import os
import sys
import threading
import time
from contextlib import AsyncExitStack, ExitStack

from shop import tell

ASKED = os.environ.get("ASKED")
AT_ONCE = ASKED in ("startup is slow", "two at once")
PAUSE = 0.5 if ASKED == "crashes later" else 0  # seconds


def failed(what, error):
    """Print an exception."""
    tell(what, type(error).__name__, str(error))


def request(get):
    """Make one request."""
    try:
        tell("answered", get())
    except Exception as error:
        failed("request raises", error)


async def arequest(get):
    """Make one request where requests are awaited."""
    try:
        tell("answered", await get())
    except Exception as error:
        failed("request raises", error)


def visit(host, *, at_once):
    """Make two requests, in threads if both come at once."""
    with ExitStack() as stack:
        get = stack.enter_context(host)
        tell("opened")
        if at_once:
            threads = [threading.Thread(target=request, args=[get]) for _ in "12"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            request(get)
            time.sleep(PAUSE)
            request(get)
        tell("closes")


async def avisit(host):
    """Make two requests, in tasks if both come at once."""
    async with AsyncExitStack() as stack:
        get = await stack.enter_async_context(host)
        tell("opened")
        if AT_ONCE:
            await asyncio.gather(arequest(get), arequest(get))
        else:
            await arequest(get)
            await asyncio.sleep(PAUSE)
            await arequest(get)
        tell("closes")


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    alone = getattr(module, "ONE_AT_A_TIME", False)
    if alone:
        tell("one request at a time")
    host = module.host()
    try:
        if hasattr(host, "__aenter__"):
            asyncio.run(avisit(host))
        else:
            visit(host, at_once=AT_ONCE and not alone)
        tell("closed")
    except Exception as error:
        failed("raises", error)
