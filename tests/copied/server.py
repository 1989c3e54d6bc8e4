"""Plays conversations with the server's half that is named, and prints what came of each.

It reads the conversations from standard input: by name, what the application does step by step,
the limits, what the body of `async with` does, and whether the server's task is cancelled.
"""

import asyncio
import importlib
import json
import logging
import sys

__all__: list[str] = []

if sys.flags.isolated:
    sys.path.insert(0, "")  # -I leaves out the folder in which the copy lies
server = importlib.import_module(sys.argv[1])


class Log(logging.Handler):
    """Keeps the lines that were logged."""

    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def emit(self, record):
        """Keep one."""
        self.lines.append([record.levelname, record.getMessage()])


def told(error):
    """Say all that is known of an exception, but where it was raised."""
    if error is None:
        return None
    notes, message = getattr(error, "__notes__", []), getattr(error, "message", None)
    return [type(error).__name__, str(error), message, notes, told(error.__cause__)]


class Application:
    """An application that takes the steps of a plan; each is a method."""

    def __init__(self, steps, heard):
        self.steps, self.heard = steps, heard

    async def __call__(self, scope, receive, send):
        """Be called by the server's half."""
        self.scope, self._receive, self.send = scope, receive, send
        for step, *given in self.steps:
            await getattr(self, step)(*given)

    async def receive(self):
        """Note the next event."""
        self.heard.append(await self._receive())

    async def try_to_send(self, message):
        """Send what is refused, and note why."""
        try:
            await self.send(message)
        except server.ProtocolError as error:
            self.heard.append([str(error), error.rule])

    async def share(self, state):
        """Put something into the state."""
        self.scope["state"].update(state)

    async def sleep(self):
        """Not come to an end."""
        await asyncio.sleep(60)

    async def ignore_cancellation(self):
        """Go on, once."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.heard.append("not yet")

    async def exit(self, status):
        """End the server itself."""
        raise SystemExit(status)

    async def crash(self, text):
        """Raise what nobody expects."""
        raise RuntimeError(text)


async def serve(lifespan, body, heard):
    """Be a server: start, do what the body does, stop."""
    async with lifespan:
        heard.append([lifespan.supported, lifespan.with_state({"type": "http"})])
        if body == "raise":
            raise ValueError("the body failed")
        if body == "wait":
            await lifespan.wait_ended()


async def play(plan, heard, wrong):
    """Let one conversation happen; return the exception that the server met, if any."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: wrong.append(context["message"]))
    lifespan = server.Lifespan(Application(plan["application"], heard), **plan.get("options", {}))
    heard.append(lifespan)
    task = loop.create_task(serve(lifespan, plan.get("body"), heard))
    if plan.get("cancelled"):
        loop.call_later(0.2, task.cancel)
    await asyncio.wait([task])
    left = asyncio.all_tasks() - {asyncio.current_task()}
    wrong.extend(["a task is left behind"] * len(left))
    return asyncio.CancelledError() if task.cancelled() else task.exception()


def came_of(plan):
    """Return all that can be seen of a conversation."""
    heard, wrong, lines = [], [], []
    handler = Log(lines)
    logging.getLogger().addHandler(handler)
    try:
        error = asyncio.run(play(plan, heard, wrong))
    except SystemExit as exit_:
        error, wrong = exit_, []  # asyncio itself tells of the tasks that it had to end
    finally:
        logging.getLogger().removeHandler(handler)
    lifespan = heard.pop(0)
    return {
        "outcome": lifespan.outcome,
        "error": told(lifespan.error),
        "state": lifespan.state,
        "heard": heard,
        "raised": told(error),
        "log": lines,
        "wrong": wrong,
    }


logging.getLogger().setLevel(logging.INFO)
json.dump({name: came_of(plan) for name, plan in json.load(sys.stdin).items()}, sys.stdout)
