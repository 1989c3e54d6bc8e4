"""The first lines of a report on an application."""

import io
from dataclasses import replace
from typing import Any

import pytest

from lifespec.conformance import i18n
from lifespec.conformance.explain import columns
from lifespec.conformance.i18n import ENGLISH, STARTS, STOPS
from lifespec.conformance.report import summary, terminal
from lifespec.conformance.report.model import Course, Finding, Report, Verdict
from lifespec.conformance.report.notices import Notice

__all__: list[str] = []

CHINESE = i18n.wording("zh")
GOOD = Course("complete", "complete", received=True, detail="")


class Unicode(io.StringIO):
    """A stream for all characters."""

    encoding = "utf-8"  # type: ignore[assignment]


def report(*broken: str, verdict: Verdict = Verdict.FAIL, **facts: Any) -> Report:
    """Make a report in which these rules were broken."""
    said = "It answers.", "it answers", "It left."
    found = tuple(Finding("one", rule_id, verdict, *said) for rule_id in broken)
    return Report("shop:app", "asgi 2.0", found, **facts)


def rows(found: Report, course: Course = GOOD, wording: i18n.Wording = ENGLISH) -> dict[str, str]:
    """Return the rows."""
    return summary.rows(replace(found, course=course), "It is sound.", wording)


def test_an_application_that_is_sound() -> None:
    """It starts, it stops, and there is nothing to change."""
    assert rows(report()) == {
        "starts": "yes",
        "stops": "yes",
        "rules": "It is sound.",
        "to change": "no change needed",
    }
    assert rows(report(), wording=CHINESE)["to change"] == "不需要改动"


@pytest.mark.parametrize(
    ("course", "starts", "stops"),
    [
        (
            Course("failed", "", received=True, detail="no db"),
            "no, its startup failed: no db",
            None,
        ),
        (
            Course("failed", "", received=True, detail=""),
            "no, its startup failed: no message",
            None,
        ),
        (
            Course("raised", "", received=False, detail="KeyError: 'x'"),
            "without lifespan: it raised KeyError: 'x' when it was called with the scope",
            None,
        ),
        (
            Course("raised", "", received=True, detail="KeyError: 'x'"),
            "without its startup: it raised KeyError: 'x' after it had received lifespan.startup",
            None,
        ),
        (
            Course("returned", "", received=True, detail=""),
            "without its startup: it returned without an answer to lifespan.startup",
            None,
        ),
        (
            Course("exited", "", received=True, detail="SystemExit: 3"),
            STARTS["exited"] % "SystemExit: 3",
            None,
        ),
        (GOOD, "yes", "yes"),
        (
            Course("complete", "failed", received=True, detail="100 %s"),
            "yes",
            "no, its clean-up failed: 100 %s",
        ),
        (
            Course("complete", "returned early", received=True, detail=""),
            "yes",
            STOPS["returned early"],
        ),
        (
            Course("hung", "", received=True, detail="it was in `up`, a.py:1", limit=30.0),
            "no, not within 30 s; it was in `up`, a.py:1",
            None,
        ),
        (
            Course("complete", "failed", detail="OSError: no", place="`down`, a.py:1"),
            "yes",
            "no, its clean-up failed: OSError: no, in `down`, a.py:1",
        ),
    ],
)
def test_whether_it_starts_and_stops(course: Course, starts: str, stops: str | None) -> None:
    """By what came of both events, with the message, the exception, or that there was none."""
    found = rows(report(), course)
    assert (found["starts"], found.get("stops")) == (starts, stops)


@pytest.mark.parametrize(
    ("broken", "facts", "course", "lines"),
    [
        (["state-keys-text"], {}, GOOD, ["state-keys-text: The application uses a class"]),
        (
            ["state-keys-text", "events-known", "message-is-text", "startup-answered"],
            {},
            GOOD,
            ["state-keys-text: ", "events-known: ", "message-is-text: ", "and more: see below"],
        ),
        (
            ["events-known"],
            {},
            Course("failed", "", received=True, detail=""),
            ["Correct what its message says"],
        ),
        (
            [],
            {"supported": False},
            Course("returned", "", received=False, detail=""),
            ["If it should support"],
        ),
        ([], {"supported": False, "whose": "From Django."}, GOOD, ["From Django."]),
        ([], {}, Course("hung", "", received=True, detail=""), ["Find out what its startup "]),
        (
            ["shutdown-answered"],
            {},
            Course("complete", "hung", received=True, detail=""),
            ["Its clean-up does not end: "],
        ),
        (
            ["shutdown-answered", "events-known"],
            {},
            Course("complete", "returned", received=True),
            ["shutdown-answered: ", "events-known: "],
        ),
        ([], {}, Course("complete", "refused", rule="events-known"), ["events-known: "]),
        ([], {}, Course("complete", "failed"), ["Correct the error in its clean-up."]),
        (["startup-answered"], {}, Course("silent"), ["startup-answered: "]),
        (
            ["failed-to-prevent-start"],
            {"supported": False},
            Course("raised", "", received=True, detail="x"),
            ["failed-to-prevent-start: An exception in startup code"],
        ),
    ],
)
def test_what_to_change(
    broken: list[str], facts: dict[str, Any], course: Course, lines: list[str]
) -> None:
    """The hints of what was broken, three at most; or what has to be done before."""
    told = rows(report(*broken, **facts), course)["to change"].splitlines()
    assert [line[: len(wanted)] for line, wanted in zip(told, lines, strict=True)] == lines


@pytest.mark.parametrize(
    ("cause", "advice"),
    [("service", "Start the service that its"), ("code", "Correct the code that raised this")],
)
def test_what_to_do_depends_on_what_was_raised(cause: str, advice: str) -> None:
    course = Course(
        "failed",
        "",
        received=True,
        detail="KeyError: 'URL'",
        place="`life`, shop.py:12",
        cause=cause,
    )
    found = rows(report(), course)
    assert found["starts"] == "no, its startup failed: KeyError: 'URL', in `life`, shop.py:12"
    assert found["to change"].startswith(advice)


def test_what_an_author_would_want_to_know() -> None:
    """What a framework does is one line, and so is each notice, with the page to read."""
    theirs = replace(
        report("receive-refuses-unknown").findings[0],
        verdict=Verdict.WARN,
        whose="This comes from Starlette (starlette.routing), not from your code.",
    )
    notices = (Notice("task-left", "poller (shop.py:5)"), Notice("state-rebound"))
    found = replace(report(), findings=(theirs, theirs), notices=notices)
    lines = rows(found, GOOD)["to know"].splitlines()
    assert lines[0] == (
        "1 SHOULD missed by Starlette, not by your code: lifespec explain receive-refuses-unknown"
    )
    assert lines[1].startswith("A task still ran after it had stopped: poller (shop.py:5). ")
    assert lines[1].endswith('See "Background tasks and context variables".')
    chinese = [*summary.told_of(notices, CHINESE)]
    assert chinese[0].endswith("该任务。（详见：《后台任务与上下文变量》。）")
    assert len(lines) == 3


def test_a_page_has_its_address_if_the_site_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://docs.example/lifespec")
    site = "https://docs.example/lifespec"
    assert i18n.ENGLISH.page("state.html", "State") == f"{site}/en/state.html"
    assert i18n.wording("zh").page("state.html", "State") == f"{site}/zh-cn/state.html"


def test_what_an_author_has_not_to_change() -> None:
    """What was kept, what no specification says, and what comes from a framework."""
    assert rows(report("events-known", verdict=Verdict.PASS))["to change"] == "no change needed"
    assert rows(report("events-known", verdict=Verdict.INFO))["to change"] == "no change needed"
    (finding,) = report("events-known", verdict=Verdict.WARN).findings
    theirs = Report("it", "asgi 2.0", (replace(finding, whose="From Starlette."),))
    assert rows(theirs)["to change"] == "no change needed"


def test_the_worst_comes_first() -> None:
    """A must before a should."""
    findings = (
        *report("receive-refuses-unknown", verdict=Verdict.WARN).findings,
        *report("events-known").findings,
    )
    told = rows(Report("it", "asgi 2.0", findings))["to change"]
    assert told.startswith("events-known: ")


@pytest.mark.parametrize("wording", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize(
    "course",
    [*(Course(key.removesuffix(" late"), "", " late" in key, "x") for key in STARTS), GOOD]
    + [Course("complete", key, detail="x", rule="events-known") for key in STOPS],
)
def test_it_fits_a_terminal(course: Course, wording: i18n.Wording) -> None:
    """In 80 columns, before everything else; each language in its own words."""
    stream = Unicode()
    facts = {"supported": course.startup == "complete", "course": course}
    terminal.show(report("events-known", **facts), stream, wording=wording)
    lines = stream.getvalue().splitlines()
    head = "\n".join(lines[: lines.index("")])
    lines = head.splitlines()
    assert max(map(columns, lines)) <= 80
    heads = ("starts", "rules", "to change") if wording is ENGLISH else ("启动", "规则", "修改建议")
    assert [line for line in heads if any(each.startswith(line) for each in lines)] == [*heads]
    assert "events-known" in head or (course.supports and not course.starts)
