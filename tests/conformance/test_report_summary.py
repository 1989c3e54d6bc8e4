"""The first lines of a report on an application."""

import io
from dataclasses import replace
from typing import Any

import pytest

from lifespec.conformance import i18n
from lifespec.conformance.explain import columns
from lifespec.conformance.i18n import ENGLISH, STARTS, STOPS
from lifespec.conformance.oldreport import summary, terminal
from lifespec.conformance.oldreport.model import Course, Finding, Report, Verdict

__all__: list[str] = []

CHINESE = i18n.wording("zh")
GOOD = Course("complete", "complete", received=True)


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
        (["events-known"], {}, Course("failed", received=True), ["Correct what its message says"]),
        ([], {"supported": False}, Course("returned"), ["If it should support"]),
        ([], {"supported": False, "whose": "From Django."}, GOOD, ["From Django."]),
        ([], {}, Course("hung", received=True), ["Find out what its startup "]),
        (
            ["shutdown-answered"],
            {},
            Course("complete", "hung", received=True),
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
            Course("raised", received=True, detail="x"),
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


@pytest.mark.parametrize(
    ("verdict", "facts", "sentence"),
    [
        (Verdict.INFO, {}, "It keeps every MUST and SHOULD of lifespan 2.0 (ASGI)."),
        (Verdict.WARN, {"supported": False}, "The application does not support lifespan."),
        (Verdict.PASS, {"obstacle": "No."}, "It could not be checked: No."),
        (Verdict.SKIP, {}, "It could not be checked: It left."),
    ],
)
def test_what_it_comes_to(verdict: Verdict, facts: dict[str, Any], sentence: str) -> None:
    """The first sentence says what the exit status says."""
    assert summary.of_rules(report("events-known", verdict=verdict, **facts), ENGLISH) == sentence


def test_a_page_has_its_address_if_the_site_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://docs.example/lifespec")
    site = "https://docs.example/lifespec"
    assert i18n.ENGLISH.page("state.html", "State") == f"{site}/en/state.html"
    assert i18n.wording("zh").page("state.html", "State") == f"{site}/zh-cn/state.html"
