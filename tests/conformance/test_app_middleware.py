"""Middleware is checked: what the application or the server sends has to reach the other.

Wrong middleware that breaks one rule alone is in test_mutants.
"""

import time
from typing import Any

import pytest

from apart import checked, one_line
from lifespec.conformance import Report, check_middleware
from lifespec.conformance.app.observation import plain
from lifespec.conformance.app.plan import planned
from lifespec.words import Words

HANG = {"holds_answers_back", "hangs_at_shutdown", "deafens", "waits_for_ever"}


def check(name: str, module: str = "middlewares", **options: Any) -> Report:
    """Check middleware."""
    limit = 1.0 if name in HANG else 60.0
    return checked(check_middleware, module, name, strict=True, timeout=limit, **options)


def rules(report: Report, *verdicts: str) -> set[str]:
    """Name the rules with these verdicts."""
    return {each.rule for each in report.findings if each.verdict in verdicts}


# where `by_type` raises, at an unknown scope, ASGI asks for it
@pytest.mark.parametrize("name", ["middlewares.passes_on", "lifespec.validator",
                                  "middlewares.in_a_group", "middlewares.by_type"])  # fmt: skip
def test_what_hands_everything_on_passes_every_case(name: str) -> None:
    found = check(*name.split(".")[::-1])
    assert found.status == 0
    assert rules(found, "fail", "warn", "info") == set()
    assert {each.case for each in found.findings} == {*planned("middleware", "asgi 2.0").cases}


NO_SCOPE = "It does not pass the lifespan scope on. "


@pytest.mark.parametrize(
    ("middleware", "named", "sentence"),
    [
        (
            "holds_answers_back",
            {"startup-answered", "failed-to-prevent-start", "send-refuses-unknown"},
            "",
        ),
        ("hangs_at_shutdown", {"shutdown-answered"}, ""),
        ("starts_twice", {"startup-sent"}, ""),
        ("lacks_state", {"state-untouched", "state-shallow-copy"}, ""),
        ("lacks_the_values", {"state-shallow-copy"}, ""),
        ("deafens", {"startup-sent"}, ""),
        ("eats_lifespan", {"startup-sent"}, "It answers startup in the application's place."),
        ("reads_the_path", {"startup-sent"}, "It raised KeyError: 'path'"),
        (
            "waits_for_ever",
            {"startup-sent", "unknown-scope-rejected"},
            "It did not answer startup in time.",
        ),
        ("mounts", {"startup-sent"}, "It answers startup in the appl"),
    ],
)
def test_what_is_wrong_is_named(middleware: str, named: set[str], sentence: str) -> None:
    found = check(middleware)
    assert rules(found, "fail", "warn", "info") == named
    assert not sentence or NO_SCOPE + sentence in one_line(found)


@pytest.mark.parametrize(
    ("middleware", "different"),
    [
        ("another_message", {"failed-to-prevent-start", "shutdown-answered"}),
        ("fewer_keys", {"scope-type", "startup-sent", "startup-answered", "shutdown-sent"}),
        ("a_view_of_the_state", {"state-untouched"}),
    ],
)
def test_a_difference_that_no_specification_forbids_fails_nobody(
    middleware: str, different: set[str]
) -> None:
    found = check(middleware)
    assert rules(found, "info") == different
    assert found.status == 0


@pytest.mark.parametrize(
    ("middleware", "reason"),
    [
        ("HTTPSRedirectMiddleware", "it was answered with status 307"),
        ("lacks_settings", "it raised KeyError: 'app'"),
        ("drops_requests", "it ended without an answer"),
    ],
)
def test_the_state_of_a_request_that_does_not_reach_the_application_is_not_judged(
    middleware: str, reason: str
) -> None:
    module = "starlette.middleware.httpsredirect" if middleware[0] == "H" else "middlewares"
    found = check(middleware, module, only=["through-start-and-stop"])
    assert found.status == 0
    (skipped,) = [each for each in found.findings if each.kind.startswith("request-")]
    assert skipped.verdict == "skip"
    sentence = Words().say(skipped.observed)
    assert sentence.startswith("The request did not reach the application: ")
    assert reason in sentence


def test_what_takes_the_application_for_something_else_is_no_middleware() -> None:
    report = check("OfMounts")
    assert report.status == 2
    assert "it took the application of the suite for something else" in one_line(report)


def test_middleware_that_blocks_is_judged_by_what_was_noted_before() -> None:
    def blocks(app: Any) -> Any:
        async def wrapped(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)
            time.sleep(60)  # noqa: ASYNC251  it blocks

        return wrapped

    report = check_middleware(blocks, only=["through-start-and-stop"], timeout=1.0)
    verdicts = report.verdicts()
    assert verdicts["startup-answered"] == "pass"
    assert verdicts["middleware-copies-scope"] == "skip"


def test_an_object_that_is_no_data_is_known_by_its_identity() -> None:
    class Own(dict[str, int]):
        pass

    one, two = object(), object()
    assert plain([one]) == plain([one]) != plain([two])
    assert plain(Own(a=1)) == plain({"a": 1})
    assert plain([1]) != plain((1,))
    itself: list[Any] = [1]
    itself.append(itself)
    assert plain(itself) == ["list", 1, "..."]
