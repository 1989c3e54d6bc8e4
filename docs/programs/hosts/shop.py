"""An application that prints what a host does with it, one JSON list a line.

The variable ASKED says how its startup or its shutdown goes, as the record
names it, such as "startup fails". Without it all goes well.
"""

import asyncio
import json
import os

FOREVER = 3600
NOTE = "the note of another request"


def tell(*what):
    """Print what has just happened."""
    print(f"{json.dumps(what)}\n", end="", flush=True)  # one write: threads


class Shop:
    """Opens a pool at startup, and looks for it in the state of each request."""

    def __init__(self, asked=""):
        self.asked = asked
        self.pool = self.state = None

    async def __call__(self, scope, receive, send):
        """Handle a lifespan, or a request."""
        if scope["type"] == "http":
            await self.respond(scope, send)
            return
        try:
            tell(scope["type"], *(["state"] if "state" in scope else []))
            await self.live(scope, receive, send)
        except BaseException as error:
            tell("ends", type(error).__name__)
            raise
        tell("ends")

    async def live(self, scope, receive, send):
        """Answer the events; one that is not known is only told."""
        if self.asked == "raises on the scope":
            raise NotImplementedError("no lifespan here")
        if self.asked == "raises ValueError on the scope":
            raise ValueError("no lifespan here")
        if self.asked == "returns on the scope":
            return
        event = ""
        while event != "lifespan.shutdown":
            event = (await receive())["type"]
            tell("event", event)
            if event == "lifespan.startup":
                await self.start(scope, send)
            if self.asked == "startup fails":
                return
        await self.stop(scope, send)

    async def start(self, scope, send):
        """Open the pool."""
        if self.asked == "startup raises":
            raise OSError("no pool")
        if self.asked == "startup hangs":
            await asyncio.sleep(FOREVER)
        if self.asked == "startup is slow":
            await asyncio.sleep(0.5)
        if self.asked == "startup fails":
            await self.answer(send, "lifespan.startup.failed", "no pool")
            return
        self.pool, self.state = object(), scope.get("state")
        if self.state is not None:
            self.state["pool"] = self.pool
        await self.answer(send, "lifespan.startup.complete")
        if self.asked == "crashes later":
            await asyncio.sleep(0.2)
            raise OSError("no pool")

    async def stop(self, scope, send):
        """Close the pool."""
        if state := scope.get("state"):
            seen = "the pool" if state.get("pool") is self.pool else "no pool"
            tell("state at shutdown", seen, *([NOTE] if "note" in state else []))
        if self.asked == "shutdown raises":
            raise OSError("pool lost")
        if self.asked == "shutdown hangs":
            await asyncio.sleep(FOREVER)
        if self.asked == "shutdown fails":
            await self.answer(send, "lifespan.shutdown.failed", "pool lost")
        else:
            await self.answer(send, "lifespan.shutdown.complete")

    async def answer(self, send, event, message=""):
        """Send an event about the lifespan."""
        tell("sends", event)
        await send({"type": event, **({"message": message} if message else {})})

    async def respond(self, scope, send):
        """Print what the request sees of the state, and write into it."""
        state = scope.get("state")
        if state is None:
            tell("request", "no state")
        else:
            seen = "the pool" if self.pool and state.get("pool") is self.pool else "no pool"
            dict_ = "the same dict" if state is self.state else "another dict"
            tell("request", seen, dict_, *([NOTE] if "note" in state else []))
            state["note"] = "written by a request"
        start = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": b"apples"})


app = Shop(os.environ.get("ASKED", ""))
