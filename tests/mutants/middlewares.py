"""Small wrong middleware: most break one rule, whose name they bear, and keep the others."""

import asyncio
import contextlib
import copy
import functools
from collections import ChainMap
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]
Change = Callable[[Any], Any]


def wrapping(call: Callable[..., Awaitable[None]]) -> Middleware:
    """Make middleware of a function that takes the application first."""

    @functools.wraps(call)
    def middleware(app: Application) -> Application:
        return functools.partial(call, app)

    return middleware


def changing(
    scope: Change = lambda scope: scope,
    event: Change = lambda event: event,
    answer: Change = lambda answer: answer,
) -> Middleware:
    """Make middleware that hands on what these functions return."""

    @wrapping
    async def middleware(app: Any, given: Any, receive: Any, send: Any) -> None:
        async def changing_receive() -> Any:
            return event(await receive())

        async def changing_send(message: Any) -> None:
            await send(answer(message))

        await app(scope(given), changing_receive, changing_send)

    return middleware


def without(*keys: str) -> Change:
    """Make a copy that lacks these keys."""
    return lambda mapping: {key: mapping[key] for key in mapping if key not in keys}


def of(type_: str, change: Change) -> Change:
    """Change what has a type that begins so, and nothing else."""
    return lambda each: change(each) if each["type"].startswith(type_) else each


def only_type(event: Any) -> Any:
    """Make an event anew, without any other key."""
    return {"type": event["type"]}


def changed_in_place(scope: Any) -> Any:
    """Put a key into the scope itself."""
    scope["service"] = "shop"
    return scope


def without_state_of_requests(scope: Any) -> Any:
    """Leave out the state of a scope that is not lifespan's."""
    return scope if scope["type"] == "lifespan" else without("state")(scope)


@wrapping
async def swallows_refusals(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It lets the application think that all is well."""

    async def swallowing(event: Any) -> None:
        with contextlib.suppress(Exception):
            await send(event)

    await app(scope, receive, swallowing)


@wrapping
async def swallows_exceptions(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It has its own idea of what a lifespan may raise."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise


@wrapping
async def raises_its_own(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It puts another exception in the place of the application's."""
    try:
        await app(scope, receive, send)
    except Exception:
        if scope["type"] != "lifespan":
            raise
        raise RuntimeError("it failed") from None


@wrapping
async def lets_unknown_scopes_pass(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """It takes it that nobody waits for an answer to what it does not know."""
    if scope["type"] in ("lifespan", "http", "message"):
        await app(scope, receive, send)


def answering_again(type_: str) -> Middleware:
    """Make middleware that sends an answer a second time."""

    @wrapping
    async def middleware(app: Any, scope: Any, receive: Any, send: Any) -> None:
        async def again(event: Any) -> None:
            await send(event)
            if event["type"] == type_:
                with contextlib.suppress(Exception):
                    await send(event)

        await app(scope, receive, again)

    return middleware


STARTED = {"type": "lifespan.startup.complete"}
MUTANTS: dict[str, dict[str, Middleware]] = {
    "scope-type": {
        "takes_the_event_for_the_scope": changing(
            of("lifespan", lambda scope: {**scope, "type": "lifespan.startup"})
        ),
        "forgets_other_keys": changing(without("hello")),
    },
    "scope-versions": {"forgets_versions": changing(without("asgi", "amgi", "pagi"))},
    "middleware-copies-scope": {"changes_the_scope": changing(changed_in_place)},
    "state-untouched": {
        "copies_too_deep": changing(copy.deepcopy),
        "replaces_the_state": changing(of("lifespan", lambda scope: {**scope, "state": {}})),
    },
    "state-shallow-copy": {"requests_without_state": changing(without_state_of_requests)},
    "startup-sent": {"only_the_type": changing(event=of("lifespan.startup", only_type))},
    "shutdown-sent": {"only_the_type": changing(event=of("lifespan.shutdown", only_type))},
    "startup-answered": {"only_the_type": changing(answer=of("lifespan.startup.c", only_type))},
    "startup-answered-once": {"answers_again": answering_again("lifespan.startup.complete")},
    "shutdown-answered": {"only_the_type": changing(answer=of("lifespan.shutdown.f", only_type))},
    "shutdown-answered-once": {"answers_again": answering_again("lifespan.shutdown.complete")},
    "failed-to-prevent-start": {
        "only_the_type": changing(answer=of("lifespan.startup.failed", only_type)),
        "says_it_has_started": changing(answer=of("lifespan.startup.failed", lambda _: STARTED)),
    },
    "send-refuses-unknown": {"swallows_refusals": swallows_refusals},
    "middleware-passes-on": {
        "swallows_exceptions": swallows_exceptions,
        "raises_its_own": raises_its_own,
    },
    "unknown-scope-rejected": {"lets_unknown_scopes_pass": lets_unknown_scopes_pass},
}


def ending(seen: str, *, raises: bool = False) -> Middleware:
    """Make middleware that changes how a lifespan ends whose last event was of a type."""

    @wrapping
    async def middleware(app: Any, scope: Any, receive: Any, send: Any) -> None:
        types = [""]

        async def noting_receive() -> Any:
            event = await receive()
            types.append(event["type"])
            return event

        async def noting_send(event: Any) -> None:
            types.append(event["type"])
            await send(event)

        try:
            await app(scope, noting_receive, noting_send)
        except Exception:
            if raises or types[-1] != seen or scope["type"] != "lifespan":
                raise
        else:
            if raises and types[-1] == seen and scope["type"] == "lifespan":
                raise RuntimeError("it has not answered")

    return middleware


ONLY_IN: dict[str, Middleware] = {  # by the case that alone shows what they do
    "through-a-crash": ending("lifespan.startup.complete"),
    "through-a-failed-stop": MUTANTS["shutdown-answered"]["only_the_type"],
    "through-returning": ending("", raises=True),
    "through-unsupported": ending(""),
    "through-unsupported-late": ending("lifespan.startup"),
}


def breaks_all(app: Application) -> Application:
    """Break every rule of middleware at once, each as one above does."""
    lost = "hello", "asgi", "amgi", "pagi"
    lossy = changing(
        lambda scope: copy.deepcopy(without_state_of_requests(without(*lost)(scope))),
        of("lifespan", only_type),
        of("lifespan", only_type),
    )
    wrong = lossy(lets_unknown_scopes_pass(app))
    for name in ("startup", "shutdown"):
        wrong = answering_again(f"lifespan.{name}.complete")(wrong)
    wrong = raises_its_own(swallows_refusals(wrong))

    async def changing_scope(scope: Any, receive: Any, send: Any) -> None:
        await wrong(changed_in_place(scope), receive, send)

    return changing_scope


# ---- what breaks several rules, or has an answer of its own ------------------------------------


def passes_on(app: Application) -> Application:
    """Be no middleware at all."""
    return app


@wrapping
async def in_a_group(app: Any, scope: Any, receive: Any, send: Any) -> None:
    async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
        outer.create_task(asyncio.to_thread(lambda: None))
        inner.create_task(app(scope, receive, send))  # type: ignore[arg-type]


@wrapping
async def by_type(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Choose an application by the type of the scope, as channels' router does."""
    await {"http": app, "lifespan": app}[scope["type"]](scope, receive, send)


@wrapping
async def eats_lifespan(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{name}.complete"})
    else:
        await app(scope, receive, send)


@wrapping
async def reads_the_path(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["path"]:
        await app(scope, receive, send)


@wrapping
async def waits_for_ever(app: Any, scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


@wrapping
async def lacks_settings(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        scope["app"].state.limiter()
    await app(scope, receive, send)


@wrapping
async def drops_requests(app: Any, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        await app(scope, receive, send)


@wrapping
async def holds_answers_back(app: Any, scope: Any, receive: Any, send: Any) -> None:
    held: list[Any] = []

    async def keep(event: Any) -> None:
        held.append(event)

    await app(scope, receive, keep if scope["type"] == "lifespan" else send)
    for event in held:
        await send(event)


@wrapping
async def hangs_at_shutdown(app: Any, scope: Any, receive: Any, send: Any) -> None:
    async def hanging(event: Any) -> None:
        if "lifespan.shutdown" in event["type"]:
            await asyncio.sleep(1e6)
        await send(event)

    await app(scope, receive, hanging)


@wrapping
async def starts_twice(app: Any, scope: Any, receive: Any, send: Any) -> None:
    events: list[Any] = []

    async def again() -> Any:
        events.append(events[0] if len(events) == 1 else await receive())
        return events[-1]

    await app(scope, again, send)


@wrapping
async def deafens(app: Any, scope: Any, receive: Any, send: Any) -> None:
    await app(scope, asyncio.Event().wait, send)


lacks_state = changing(without("state"))
lacks_the_values = changing(
    scope=lambda scope: scope if scope["type"] == "lifespan" else {**scope, "state": {}}
)
another_message = changing(
    answer=lambda each: each | ({"message": "x"} if "message" in each else {})
)
fewer_keys = changing(*[without("hello")] * 3)
a_view_of_the_state = changing(
    lambda each: {**each, "state": ChainMap(each["state"])} if "state" in each else each
)


def mounts(app: Application) -> Application:
    """Mount it, as some do."""
    from starlette.applications import Starlette  # noqa: PLC0415  the others need it not
    from starlette.routing import Mount  # noqa: PLC0415

    return Starlette(routes=[Mount("/", app)])


class OfMounts:
    """Take applications by their paths, as a dispatcher does, and not one application."""

    def __init__(self, mounts: Any) -> None:
        self.mounts = mounts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for each in self.mounts:
            await each(scope, receive, send)
