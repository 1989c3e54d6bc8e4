"""Every application: what it may do, how a script is played, and how many there are.

An application here is a script, at most N actions, and a manner. The last action is `return` or
`raise`, and no other is; so none is counted twice. The manner says what a refused send does: the
application lets the exception pass, or swallows it and goes on with its script.
"""

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Literal, NamedTuple

Script = tuple[str, ...]
Manner = Literal["either", "passes", "swallows"]  # either: nothing was refused, so both are one

MESSAGES: dict[str, dict[str, str]] = {
    "startup.complete": {"type": "lifespan.startup.complete"},
    "startup.failed": {"type": "lifespan.startup.failed", "message": "no"},
    "shutdown.complete": {"type": "lifespan.shutdown.complete"},
    "shutdown.failed": {"type": "lifespan.shutdown.failed", "message": "no"},
    "unknown": {"type": "lifespan.unknown"},
    "malformed": {"message": "no type"},
}
MOVES = ("receive", *MESSAGES, "pause")
UNKNOWN = {"unknown", "malformed"}  # refused in every state, as four actions show
KNOWN = tuple(each for each in MOVES if each not in UNKNOWN)  # so a fifth does without them
ENDS = ("return", "raise")


class Crash(Exception):
    """What an application raises by itself."""


class Said(NamedTuple):
    """One fact, as the application saw it."""

    what: str
    of: str = ""


class Actor:
    """An application that plays its script, and keeps what it saw."""

    def __init__(
        self,
        script: Script,
        *,
        swallows: bool = False,
        pause: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0),
    ) -> None:
        self.script, self.swallows, self.pause = script, swallows, pause
        self.begun = 0
        self.heard: list[str] = []
        self.refused: list[tuple[int, str]] = []  # number of the action, and the rule named
        self.facts: list[Said] = []

    @property
    def over(self) -> bool:
        """Whether the call has returned or raised."""
        return bool(self.facts) and self.facts[-1].what in {"return", "raise", "cancelled"}

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        """Play the script."""
        try:
            await self._play(receive, send)
        except Exception:
            self.facts.append(Said("raise"))
            raise
        except BaseException:
            self.facts.append(Said("cancelled"))
            raise
        self.facts.append(Said("return"))

    async def _play(self, receive: Any, send: Any) -> None:
        for action in self.script:
            self.begun += 1
            if action == "receive":
                self.heard.append((await receive())["type"])
                self.facts.append(Said("heard", self.heard[-1]))
            elif action == "pause":
                await self.pause()
            elif action == "raise":
                raise Crash
            elif action != "return":
                await self._send(action, send)

    async def _send(self, action: str, send: Any) -> None:
        self.facts.append(Said("sent", MESSAGES[action].get("type", "")))
        try:
            await send(MESSAGES[action])
        except Exception as error:
            self.refused.append((self.begun, getattr(error, "rule", "")))
            if not self.swallows:
                raise


def below(room: int, moves: Script) -> int:
    """Count the scripts that still fit where so many actions are left."""
    return sum(len(moves) ** number * len(ENDS) for number in range(room))


def scripts(size: int, moves: Script = MOVES, begin: Script = ()) -> list[Script]:
    """List every script of up to so many actions, those that begin alike side by side."""
    if len(begin) == size:
        return []
    ended = [(*begin, end) for end in ENDS]
    return ended + [each for move in moves for each in scripts(size, moves, (*begin, move))]


@types.coroutine
def watched(
    call: Coroutine[Any, Any, None], on_thrown: Callable[[], object]
) -> Generator[Any, Any, None]:
    """Run a coroutine, and say when an exception is thrown into it, as a cancellation is."""
    step, value = call.send, None
    while True:
        try:
            future = step(value)
        except StopIteration:
            return
        try:
            step, value = call.send, (yield future)
        except BaseException as error:
            on_thrown()
            step, value = call.throw, error
