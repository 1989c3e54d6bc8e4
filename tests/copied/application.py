"""Plays conversations with the application's half that is named, and prints what came of each.

It reads the conversations from standard input: by name, what the context does, what it yields,
the scope, and whether `receive` fails where shutdown is due.
"""

import asyncio
import contextlib
import importlib
import json
import sys

__all__: list[str] = []

if sys.flags.isolated:
    sys.path.insert(0, "")  # -I leaves out the folder in which the copy lies
application = importlib.import_module(sys.argv[1])


def context(plan, heard):
    """Make the context that an application's author would write."""

    @contextlib.asynccontextmanager
    async def pool(_):
        heard.append("open")
        if plan["start"] is not None:
            raise ConnectionError(*plan["start"])
        try:
            yield plan["yields"]
        except Exception as error:
            heard.append(repr(error))
            if plan["stop"] != "swallow":
                raise
        finally:
            heard.append("close")
        if plan["stop"] == "raise":
            raise ConnectionError("it was lost")

    return pool


async def other(scope, receive, send):
    """Be what the other scopes are for."""
    await send(scope["type"])
    return "returned"


async def play(plan, heard):
    """Be a server that offers startup and shutdown."""
    events = iter(["lifespan.startup", "lifespan.shutdown"][: 1 if plan["lost"] else 2])

    async def receive():
        return {"type": next(events)}

    async def send(message):
        heard.append(message)

    app = application.with_lifespan(other, context(plan, heard))
    heard.append(await app(scope, receive, send))


async def legacy(heard):
    """Call an application of the old style."""

    def app(scope):
        async def called(receive, send):
            await send([scope, await receive()])
            return "returned"

        return called

    async def receive():
        return "event"

    async def send(message):
        heard.append(message)

    heard.append(await application.double_to_single_callable(app)("scope", receive, send))


def refusals():
    """Hand over what is not callable."""
    for arguments in ([other, 3], [other, other], [None, context], [context, other]):
        try:
            application.with_lifespan(*arguments)
        except TypeError as error:
            yield str(error).partition(", not ")[0]


results = {}
for name, plan in json.load(sys.stdin).items():
    said, scope, met = [], plan["scope"], None
    try:
        asyncio.run(play(plan, said))
    except Exception as error:
        met = [repr(error), repr(error.__cause__)]
    results[name] = {"heard": said, "scope": scope, "raised": met}
said = []
asyncio.run(legacy(said))
results["a two-callable application"] = said
results["what is not callable"] = list(refusals())
json.dump(results, sys.stdout)
