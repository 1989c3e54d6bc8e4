"""A report: verdicts, the exit status, what machines read, and its text."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from junitparser import JUnitXml

from lifespec.conformance import Fact, Finding, Report, Verdict, cases
from lifespec.conformance.cases import expected
from lifespec.conformance.export import as_json, as_junit
from lifespec.conformance.finding import Assessment, Row, finding
from lifespec.conformance.report import render
from lifespec.diagnosis.fact import fact
from lifespec.testing.trace import Entry

CASE = next(each for each in cases.load() if each.name == "start-and-stop")
SENT = Fact("sent-nothing")
HAN = re.compile("[一-鿿]")


def found(verdict: Verdict, rule: str = "events-known", case: str = "one", **more: Any) -> Finding:
    return Finding(verdict, rule, case, SENT, **more)


def report(*findings: Finding, **more: Any) -> Report:
    return Report("shop:app", "asgi 2.0", findings, **more)


PASSED = found(Verdict.PASS)
OWN = found(Verdict.INFO, "crash-logged", own=True)  # no specification says it, lifespec does
LEFT = Row("found", fact("thread-left", name="pump"))  # a problem


APPLIES_NOT = [
    *("no-workers", "no-limit", "no-state", "port-in-use"),
    *("connection-closed", "websocket-refused"),
]


def of_server(*findings: Finding, **more: Any) -> Report:
    return report(*findings, role="server", **more)


def unseen(kind: str, rule: str = "shutdown-sent") -> Finding:
    """Return a finding of a rule that was not judged."""
    return Finding(Verdict.SKIP, rule, "one", Fact(kind))


@pytest.mark.parametrize(
    ("status", "given"),
    [
        (0, report(PASSED)),
        (0, report(PASSED, found(Verdict.WARN, "state-keys-text"))),
        (1, report(PASSED, found(Verdict.WARN, "state-keys-text"), strict=True)),
        (0, report(PASSED, found(Verdict.WARN, framework="Starlette"), strict=True)),
        (1, report(PASSED, found(Verdict.FAIL))),
        (2, report()),
        (2, report(found(Verdict.SKIP))),
        (2, report(PASSED, obstacle=Fact("does-not-start"), starts=False)),
        (1, report(found(Verdict.FAIL), obstacle=Fact("does-not-start"))),
        (0, report(PASSED, starts=True, stops=True, ends=True)),
        (1, report(PASSED, starts=True, stops=False)),
        (1, report(PASSED, starts=True, stops=True, ends=False)),
        (0, report(PASSED, rows=(LEFT,))),
        (1, report(PASSED, rows=(LEFT,), strict=True)),
        (0, report(supported=False)),
        (1, report(supported=False, strict=True)),
        (0, report(supported=False, strict=True, framework="Django")),
        (1, report(supported=False, starts=False)),  # it raised after it had received startup
        (0, of_server(PASSED, OWN)),
        (1, of_server(PASSED, OWN, strict=True)),
        (0, of_server(PASSED, replace(OWN, framework="Starlette"), strict=True)),
        (0, of_server(PASSED, found(Verdict.INFO, "shutdown-sent"), strict=True)),
        # a MUST of which nothing is known, unless it does not apply, or something broke
        (2, of_server(PASSED, unseen("misled"))),
        (1, of_server(found(Verdict.FAIL), unseen("misled"))),
        (0, of_server(PASSED, unseen("misled", "startup-failed-shown"))),
        *((0, of_server(PASSED, unseen(kind))) for kind in APPLIES_NOT),
        (0, of_server(PASSED, unseen("no-state", "state-untouched"))),
        (0, report(PASSED, unseen("misled"))),
        # who sends startup twice keeps nothing, whatever was seen in other cases
        (2, of_server(PASSED, found(Verdict.PASS, "shutdown-sent"), unseen("startup-twice"))),
    ],
)
def test_the_exit_status_says_the_worst(status: int, given: Report) -> None:
    assert given.status == status
    assert given.ok is (status == 0)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (of_server(PASSED, OWN), "shop:app keeps lifespan 2.0 (ASGI)"),
        (
            of_server(PASSED, OWN, strict=True),
            "shop:app keeps lifespan 2.0 (ASGI), and not all that --strict asks for",
        ),
        (
            of_server(PASSED, unseen("startup-twice")),
            "shop:app could not be judged: it sends lifespan.startup twice",
        ),
        (
            of_server(PASSED, unseen("misled")),
            "shop:app could not be judged: nothing was seen of shutdown-sent",
        ),
        (of_server(found(Verdict.FAIL), OWN), "shop:app does not keep lifespan 2.0 (ASGI)"),
    ],
)
def test_the_first_line_says_the_worst(given: Report, line: str) -> None:
    assert str(given).splitlines()[0] == line


def test_kept_broken_open_and_not_judged_are_counted_apart() -> None:
    """A rule is open, and not kept, if something that no specification decides was seen once."""
    kept = [found(Verdict.PASS, rule) for rule in ("crash-logged", "events-known", "scope-type")]
    broken = found(Verdict.FAIL, "shutdown-sent")
    many = of_server(*kept, OWN, broken, unseen("misled", "same-loop"))
    assert "5 rules: 1 broken, 2 kept, 1 open, 1 not judged" in str(many)
    assert "open    crash-logged: It sent nothing. (one)" in str(many)
    assert many.verdicts()["crash-logged"] == "info"
    app = report(*kept, found(Verdict.INFO, "scope-type"), unseen("no-failure", "message-is-text"))
    assert "rules   2 kept; 1 open\nopen    scope-type: It sent nothing. (one)\n" in str(app)


@pytest.mark.parametrize(
    ("strict", "says"),
    [
        (False, "exit status 1 with --strict\n"),
        (True, "exit status 1; `--ignore NAME` accepts one"),
    ],
)
def test_a_problem_says_what_strict_makes_of_it(strict: bool, says: str) -> None:
    assert f"thread-stays: {says}" in str(report(PASSED, rows=(LEFT,), strict=strict))


def test_a_hint_follows_what_was_seen() -> None:
    for kind, hint in (("connection-at-shutdown", "The server cancels"), ("x", "The server sends")):
        broken = Finding(Verdict.FAIL, "shutdown-after-serving", "one", Fact(kind))
        if kind == "x":
            broken = replace(broken, observed=SENT)
        assert f"hint          {hint}" in str(of_server(broken))


def test_what_lifespec_does_otherwise_fails_if_strict_and_is_named_as_its_own() -> None:
    assert "INFO crash-logged ---" not in str(of_server(PASSED, OWN))
    text = " ".join(str(of_server(PASSED, OWN, strict=True)).split())
    assert "INFO crash-logged ---" in text
    assert "specified not specified. lifespec: If the application raises after it has" in text
    assert "hint The lifespan task ends, and the server does not read its exception." in text
    assert "not specified. lifespec: If the" in as_junit(of_server(OWN, strict=True))


def test_a_finding_is_a_sentence() -> None:
    assert str(PASSED) == "PASS events-known (one): It sent nothing."
    for subject in "shop:app", "a-long-folder/" * 8:
        shown = repr(replace(report(PASSED), subject=subject))
        assert shown == f"<Report: {subject} keeps lifespan 2.0 (ASGI)>"


@pytest.mark.parametrize(
    ("how", "rule", "spec", "verdict"),
    [
        ("held", "shutdown-answered", "asgi 2.0", "pass"),
        ("broken", "shutdown-answered", "asgi 2.0", "fail"),
        ("broken", "failed-to-prevent-start", "asgi 2.0", "warn"),
        ("missed", "shutdown-answered", "asgi 2.0", "warn"),
        ("unspecified", "shutdown-answered", "asgi 2.0", "info"),
        ("skip", "shutdown-answered", "asgi 2.0", "skip"),
    ],
)
def test_the_level_of_a_rule_is_the_verdict(how: Any, rule: str, spec: str, verdict: str) -> None:
    wanted = next(each for each in expected(CASE, spec) if each.rule == rule)
    given = finding(CASE, spec, wanted, Assessment(how, SENT), framework="Starlette")
    assert given.verdict == verdict
    assert given.framework == ("Starlette" if verdict == "warn" else "")
    assert (given.kind, given.observed.parts, given.own) == ("sent-nothing", {}, False)


def test_a_framework_decides_what_lifespec_does_otherwise_too() -> None:
    wanted = next(each for each in expected(CASE, "asgi 2.0") if each.rule == "answers-in-order")
    given = finding(CASE, "asgi 2.0", wanted, Assessment("broken", SENT), framework="Starlette")
    assert (given.verdict, given.own, given.framework) == ("info", True, "Starlette")


def test_a_case_can_leave_open_a_rule() -> None:
    case = next(each for each in cases.load() if each.name == "two-loops")
    (wanted,) = expected(case, "asgi 2.0")
    assert finding(case, "asgi 2.0", wanted, Assessment("broken", SENT)).verdict == "info"


WHOLE = report(
    found(Verdict.FAIL, entries=(Entry(0.1, "refused", "lifespan.x", fact("text", text="no")),)),  # type: ignore[arg-type]
    found(Verdict.SKIP, "state-keys-text"),
    found(Verdict.PASS, "message-is-text", phrase="shows", argument="text"),
    rows=(Row("stops", fact("no", why=fact("text", text="a\x00b"))),),
    times={"one": 0.25},
)


def test_json_has_kinds_parts_and_sentences() -> None:
    found_ = json.loads(as_json(WHOLE))
    assert (found_["format"], found_["status"], found_["unchecked"]) == (3, 1, None)
    assert found_["rows"][0]["kind"] == "no"
    assert found_["rows"][0]["why"] == {"kind": "text", "text": "a\x00b"}
    assert found_["rows"][0]["says"] == "no: a\\x00b"
    assert found_["findings"][0]["sequence"][0]["detail"] == {
        "says": "no",
        "kind": "text",
        "text": "no",
    }
    assert found_["findings"][2]["expected"] == "shows text"
    assert found_["cases"] == [{"name": "one", "seconds": 0.25}]
    assert json.loads(as_json(report(obstacle=Fact("does-not-start"))))["unchecked"] == {
        "says": "it does not start",
        "kind": "does-not-start",
    }


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        (WHOLE, (3, 1, 0, 1)),
        (report(PASSED, starts=True, stops=False, rows=WHOLE.rows), (2, 1, 0, 0)),
        (report(PASSED, rows=(LEFT,)), (2, 0, 0, 0)),
        (report(PASSED, rows=(LEFT,), strict=True), (2, 1, 0, 0)),
        (report(obstacle=Fact("does-not-start")), (1, 0, 1, 0)),
        (of_server(PASSED, unseen("startup-twice")), (3, 0, 1, 1)),
        (of_server(OWN, strict=True), (1, 1, 0, 0)),
    ],
)
def test_junit_is_read_by_others(given: Report, counted: tuple[int, ...]) -> None:
    """It has a test case for each finding, and one for what no rule says."""
    suites = JUnitXml.fromstring(as_junit(given).encode())
    (suite,) = suites
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == counted
    assert (suites.tests, suites.failures, suites.errors) == counted[:3]
    assert len([*suite]) == suite.tests


# ---- its text ----------------------------------------------------------------------------------

ENTRIES = (
    Entry(0.0, "called", "lifespan"),
    Entry(0.1, "refused", "lifespan.x", Fact("sent-nothing")),  # type: ignore[arg-type]
    Entry(0.2, "cancelled"),
)
MIXED = Report(
    "shop:app",
    "asgi 2.0",
    (
        Finding(Verdict.FAIL, "events-known", "case-1", SENT, "kept", "", ENTRIES),
        Finding(Verdict.FAIL, "events-known", "case-2", SENT, "kept"),
        Finding(Verdict.WARN, "receive-refuses-unknown", "case-3", SENT, framework="Starlette"),
        Finding(Verdict.INFO, "startup-answered", "case-4", SENT),
        Finding(Verdict.SKIP, "shutdown-answered", "case-4", Fact("does-not-stop")),
        Finding(Verdict.PASS, "message-is-text", "case-5", fact("text", text="a\nb"), "shows", "b"),
    ),
    rows=(Row("where", fact("text", text="case-1")), Row("where", fact("text", text="case-2"))),
    starts=True,
    stops=True,
    ends=True,
)  # fmt: skip


def test_a_report_has_the_first_lines_then_what_is_wrong() -> None:
    text = str(MIXED)
    assert text.startswith(
        "shop:app does not keep lifespan 2.0 (ASGI)\nwhere   case-1\n        case-2\n"
    )
    for each in (
        "1 broken: events-known; 1 kept",
        "1 that Starlette decides: lifespec explain receive-refuses-unknown",
        "1 not judged: it does not stop",
        "FAIL events-known ---",
        "case-1, case-2",
        "It sent nothing.",
    ):
        assert each in text
    assert "WARN" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_report_is_chinese_to_the_last_word() -> None:
    text = render(MIXED, "zh", verbose=True)
    assert HAN.search(text.splitlines()[0])
    words = re.findall(r"[A-Za-z][a-z]{3,}", re.sub(r"`[^`]*`|[\w.:-]*[.:-][\w.:-]+", "", text))
    known = "lifespan lifespec explain Starlette startup text shop dict"
    assert {*words} <= {*known.split()}


END = fact("ended-after", way=fact("ended-with-status", status=3), seconds=0.2)


def observed(verdict: Verdict, rule: str, what: Fact, case: str = "well-behaved") -> Finding:
    return Finding(verdict, rule, case, what, "served", "", ENTRIES)


def test_a_faultless_server_has_a_line_for_what_is_open() -> None:
    """Rules of which the same was seen share it; with --verbose it is shown in full."""
    once = fact("shutdown-once", end=END)
    report = of_server(
        observed(Verdict.PASS, "unsupported-by-raising", fact("served")),
        observed(Verdict.INFO, "unsupported-logged", fact("not-in-output")),
        observed(Verdict.PASS, "shutdown-sent", once),
        observed(Verdict.INFO, "shutdown-sent", once, "interrupted"),
        observed(Verdict.INFO, "crash-logged", fact("not-in-output"), "crashes-while-serving"),
        rows=(Row("left out", fact("slow-cases", count=2)),),
    )
    assert str(report) == (
        "shop:app keeps lifespan 2.0 (ASGI)\n"
        "left out   2 slow cases, of 30 to 60 s (--slow)\n"
        "rules      4 rules: 1 kept, 3 open\n"
        "open       unsupported-logged, crash-logged: It is not in the output.\n"
        "           (well-behaved and 1 more)\n"
        "           shutdown-sent: Shutdown came once; the process ended with status 3\n"
        "           after 0.2 s. (interrupted)\n"
    )
    text = render(report, verbose=True)
    assert "shutdown-sent: The server is stopped with SIGINT, the signal of\n" in text
    assert "PASS  unsupported-by-raising  well-behaved\nINFO  unsupported-logged" in text
    assert "specified   not specified. lifespec: `Lifespan` logs at level `info` that" in text
    assert "specified   lifespan 2.0 (ASGI) does not specify this case." in text
    assert "-- lifespan.x --" in text


def test_a_broken_rule_is_a_block_with_a_hint() -> None:
    remained = fact("remained", seconds=10.0)
    report = of_server(
        observed(Verdict.FAIL, "unsupported-by-raising", fact("not-served-waits", end=remained)),
        observed(Verdict.WARN, "startup-failed-exits", fact("end", end=END)),
        observed(Verdict.SKIP, "state-untouched", fact("no-state")),
    )
    text = str(report)
    assert text.startswith(
        "shop:app does not keep lifespan 2.0 (ASGI)\n"
        "rules   3 rules: 1 broken, 1 missed, 1 not judged\n"
        "\n"
        "FAIL unsupported-by-raising -"
    )
    assert text.endswith("\nnot judged   state-untouched: The server provides no state.\n")
    block = " ".join(text.partition("FAIL unsupported-by-raising")[2].split())
    end = "the process was still there 10 s later"
    assert f"actual It was not served and did not end by itself; {end}." in block
    assert "hint The server waits for the answer alone." in block  # the one that was observed
    assert "The process ended with status 3 after 0.2 s." in text


def test_what_could_not_be_checked_has_no_table() -> None:
    why = fact("no-lifespan")
    report = of_server(observed(Verdict.SKIP, "startup-sent", why), obstacle=why)
    assert str(report) == (
        "shop:app could not be checked against lifespan 2.0 (ASGI)\n"
        "The server calls the application with no lifespan scope: no lifespan took place.\n"
    )
