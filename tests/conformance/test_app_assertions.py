"""Each phrase, asked of what was seen: what is held, what is broken, and what does not apply."""

import pytest

from lifespec.conformance import cases
from lifespec.conformance.app import assertions as app_assertions
from lifespec.conformance.app.assertions import Matter
from lifespec.conformance.app.fake_server import IDLE, AppObservation, SendRefused
from lifespec.conformance.cases import Case, Expectation
from lifespec.conformance.findings import Outcome, without
from lifespec.conformance.oldreport.model import Course, Finding, Report, Verdict
from lifespec.testing.trace import Conversation, Entry
from lifespec.validate import Violation

__all__: list[str] = []

USUAL = Course("complete", "complete")


def seen(startup: str = "complete", shutdown: str = "complete", **facts: object) -> AppObservation:
    """Make what was seen of an application that returned."""
    return AppObservation(startup=startup, shutdown=shutdown, **{"ended": "returned", **facts})  # type: ignore[arg-type]


def told(
    phrase: str, rule_id: str, what: AppObservation, usual: Course = USUAL, spec: str = "asgi 2.0"
) -> tuple[str, str]:
    """Ask a phrase of a rule."""
    found = app_assertions.ASSERTIONS[phrase](
        Matter(rule_id, spec, [AppObservation(), what], usual)
    )
    assert found.actual.endswith(".")
    return found


def violation(rule_id: str, role: str = "application") -> Violation:
    """Make a violation."""
    return Violation(rule_id, role, "It was so")


RAISED = {"ended": "raised", "error": ValueError("http only")}
AGAIN = Conversation()
AGAIN.note("received", "lifespan.shutdown")
AGAIN.note("refused", "lifespan.startup.complete")


@pytest.mark.parametrize(
    ("rule_id", "idle"),
    [
        ("startup-answered-once", seen("returned", "")),
        ("answers-in-order", seen("returned", "")),
        ("events-known", seen("returned", "")),
        ("shutdown-answered-once", seen("complete", "returned", sent=["x"])),
        ("message-is-text", seen(sent=["x"])),
        ("state-keys-text", seen(sent=["x"])),
    ],
)
def test_kept(rule_id: str, idle: AppObservation) -> None:
    """A rule is kept where the validator found nothing, and does not apply without an occasion."""
    assert told("kept", rule_id, idle)[0] == "skip"
    rich = seen(sent=["x"], state={"pool": 1})
    if rule_id == "message-is-text":
        rich = seen("failed", "", sent=["x"])
    assert told("kept", rule_id, rich)[0] == "held"
    other = seen(sent=["x"], state={"a": 1}, violations=[violation(rule_id, "server")])
    other.violations.append(violation("scope-type"))
    assert told("kept", rule_id, other)[0] in ("held", "skip")
    broken = seen(violations=[violation(rule_id)])
    assert told("kept", rule_id, broken) == ("broken", "It was so.")


@pytest.mark.parametrize(
    ("rule_id", "how"), [("events-known", "unspecified"), ("startup-answered-once", "broken")]
)
def test_remarks(rule_id: str, how: str) -> None:
    """A warning on a must says that the text is silent here; else the level says it."""
    assert told("kept", rule_id, seen(warnings=[violation(rule_id)])) == (how, "It was so.")


def test_keys_at_the_end() -> None:
    """A key that is no text is seen also where it comes late."""
    found = told("kept", "state-keys-text", seen(state={"a": 1, 2: 3}))
    assert found == ("broken", "At the end the state had the key 2.")
    assert told("kept", "events-known", seen(sent=["x"], state={2: 3}))[0] == "held"


@pytest.mark.parametrize(
    ("rule_id", "what", "how"),
    [
        ("startup-answered", seen(), "held"),
        ("startup-answered", seen("failed", ""), "held"),
        ("startup-answered", seen("raised", "", **RAISED), "skip"),
        ("startup-answered", seen("returned", ""), "skip"),
        ("startup-answered", seen("raised", "", **RAISED, refused=["No."]), "skip"),
        ("startup-answered", seen("silent", "", doing=IDLE), "broken"),
        ("startup-answered", seen("exited", ""), "skip"),
        ("shutdown-answered", seen(), "held"),
        ("shutdown-answered", seen("complete", "failed"), "held"),
        ("shutdown-answered", seen("failed", ""), "skip"),
        ("shutdown-answered", seen("raised", "raised", **RAISED), "skip"),
        ("shutdown-answered", seen("complete", "returned"), "broken"),
        ("shutdown-answered", seen("complete", "raised", **RAISED), "unspecified"),
        ("shutdown-answered", seen("complete", "silent", doing=IDLE), "broken"),
        ("shutdown-answered", seen("complete", ""), "skip"),
        ("shutdown-answered", seen("complete", "exited", **RAISED), "skip"),
        ("shutdown-answered", seen("complete", "returned", refused=["No."]), "skip"),
        (
            "shutdown-answered",
            seen("complete", "raised", **RAISED, refused=["No."], spoken=AGAIN),
            "broken",
        ),
    ],
)
def test_answered(rule_id: str, what: AppObservation, how: str) -> None:
    """Startup is answered if lifespan is supported; shutdown is answered."""
    assert told("answered", rule_id, what)[0] == how


@pytest.mark.parametrize(
    ("what", "how"),
    [
        (seen(), "held"),
        (seen("failed", ""), "held"),
        (seen("returned", "", received=True), "skip"),
        (seen("raised", "", **RAISED), "skip"),
        (seen("raised", "", **RAISED, received=True), "missed"),
        (seen("raised", "", **RAISED, received=True, refused=["No."]), "skip"),
    ],
)
def test_who_raises_at_startup_misses_a_should(what: AppObservation, how: str) -> None:
    """It is served without its startup."""
    found = told("no raise", "failed-to-prevent-start", what)
    assert found[0] == how
    assert ("every server serves it all the same" in found[1]) == (how == "missed")


def reported(*verdicts: str) -> Report:
    """Make a report."""
    said = "It answers.", "it answers", "It left."
    rows = (Finding("one", "a", Verdict.named(verdict), *said) for verdict in verdicts)
    return Report("it", "asgi 2.0", tuple(rows), "So it went.")


@pytest.mark.parametrize(
    ("usual", "statuses", "words"),
    [
        (Course("complete", "complete"), (0, 0), ""),
        (Course("complete", "returned early"), (0, 1), ""),
        *((Course("complete", how), (1, 1), "") for how in ("hung", "failed", "raised early")),
        (Course("failed"), (2, 2), "it does not start: its startup failed: no message."),
        (Course("hung", limit=30.0, detail="x"), (2, 2), "start: not within 30 s; x."),
        (Course("exited", detail="status 3"), (2, 2), "it ended the process at startup: status 3"),
        (Course("killed", detail="x"), (2, 2), "its process did not end by itself"),
        (Course("raised"), (0, 1), "middleware may drop the scope"),
        (Course("returned"), (0, 1), "mounted in another one"),
        (Course("raised", received=True), (0, 1), "every server serves it all the same"),
        (Course("refused", detail="No"), (2, 2), "the suite refused what it sent: No."),
        (Course("raised", whose="From Django."), (0, 0), "From Django."),
        (Course("raised", received=True, whose="From X."), (0, 1), "every server serves"),
    ],
)
def test_what_a_report_says_of_all(usual: Course, statuses: tuple[int, int], words: str) -> None:
    """Exit status, and a sentence with the usual causes."""
    found = app_assertions.concluded(reported("pass"), usual)
    assert (found.status(), found.status(strict=True)) == statuses
    assert words in found.note + found.obstacle
    assert found.course == usual
    failed = app_assertions.concluded(reported("fail"), usual)
    assert failed.status() == 1


REFUSED = ExceptionGroup("", [ValueError("another"), SendRefused("No.")])


@pytest.mark.parametrize(
    ("what", "course"),
    [
        (seen(), ("complete", "complete", True, "")),
        (seen("failed", "", message="no\ndb\n"), ("failed", "", True, "db")),
        (seen("failed", "", message=""), ("failed", "", True, "")),
        (seen("complete", "failed", message="stuck"), ("complete", "failed", True, "stuck")),
        (seen("complete", "", ended="returned"), ("complete", "returned early", True, "")),
        (
            seen("complete", "", **RAISED),
            ("complete", "raised early", True, "ValueError: http only"),
        ),
        (seen("raised", "", **RAISED), ("raised", "", True, "ValueError: http only")),
        (seen("complete", "silent", doing="it slept"), ("complete", "silent", True, "it slept")),
        (seen("raised", "", refused=["No."], **RAISED), ("refused", "", True, "No")),
        (seen("complete", "failed early", message="x"), ("complete", "failed early", True, "x")),
        (
            seen("complete", "failed", message="only", **RAISED),
            ("complete", "failed", True, "ValueError: http only"),
        ),
        (
            seen("complete", "", ended="raised", refused=["No."], error=REFUSED),
            ("complete", "refused", True, "No"),
        ),
        (
            seen("complete", "failed", refused=["No."], message="SendRefused: No."),
            ("complete", "refused", True, "No"),
        ),
        (seen("complete", refused=["No."]), ("complete", "complete", True, "")),
    ],
)
def test_how_it_goes(what: AppObservation, course: tuple[str, str, bool, str]) -> None:
    """For the first lines of a report: what came of both events, and a detail."""
    what.received = True
    found = app_assertions.course_of(what)
    assert (*found.answers, found.received, found.detail) == course


def test_whose_doing_it_is() -> None:
    """That of an installed package which is not the one that is checked."""
    theirs = "This comes from Pytest (pytest.main), not from your code."
    assert app_assertions.whose(seen(actor="pytest.main")) == theirs
    assert app_assertions.whose(seen(actor="pytest.main"), "pytest") == ""
    assert app_assertions.whose(seen(actor="json.decoder")) == ""
    assert app_assertions.whose(seen(actor="not_imported.app")) == ""
    assert app_assertions.whose(seen()) == ""


@pytest.mark.parametrize(
    ("phrase", "what", "usual", "how"),
    [
        ("answers too", seen(), USUAL, "held"),
        ("answers too", seen("failed", ""), USUAL, "held"),
        ("answers too", seen("raised", "", **RAISED), USUAL, "broken"),
        ("answers too", seen("silent", "", doing=IDLE), USUAL, "broken"),
        ("answers too", seen("raised", "", **RAISED), Course("raised"), "skip"),
        ("as usual", seen(), USUAL, "held"),
        ("as usual", seen("failed", ""), USUAL, "broken"),
        ("as usual", seen("complete", "returned"), USUAL, "broken"),
        ("as usual", seen("failed", ""), Course("failed"), "held"),
        ("ends", seen(ended="cancelled"), USUAL, "held"),
        ("ends", seen(ended="", obeyed=False), USUAL, "broken"),
        ("no exit", seen(), USUAL, "held"),
        ("no exit", seen("exited", "", ended="exited", error=SystemExit()), USUAL, "broken"),
    ],
)
def test_comparisons(phrase: str, what: AppObservation, usual: Course, how: str) -> None:
    """What is seen is compared with what is usual, or is plain."""
    assert told(phrase, "startup-answered", what, usual)[0] == how


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        (seen("failed", ""), ("skip", "Startup was answered with failed.")),
        (
            seen("raised", "", reaction="raised", received=True, **RAISED),
            ("held", "It raised ValueError: http only."),
        ),
        (
            seen("raised", "", reaction="raised", **RAISED),
            ("skip", "It does not support lifespan: on the scope it raised ValueError: http only."),
        ),
        (seen(reaction="received"), ("broken", "It called receive.")),
        (seen(reaction="sent", sent=["a", "b"]), ("broken", "It sent b.")),
        (
            seen(reaction="silent", doing="it was still running", limit=30.0),
            ("broken", "It did nothing within 30 s: it was still running."),
        ),
        (seen(reaction="returned"), ("broken", "It returned.")),
    ],
)
def test_raises(what: AppObservation, wanted: tuple[str, str]) -> None:
    """What nobody can know is to be refused by raising."""
    assert told("raises", "receive-refuses-unknown", what) == wanted


def case(*expect: Expectation, silent: tuple[str, ...] = ()) -> Case:
    """Make a case with these expectations."""
    return Case(
        "quick", "application", "It is so.", (), expect, silent=dict.fromkeys(silent, ("asgi 2.0",))
    )


BROKEN = seen("complete", "returned", spoken=Conversation([Entry(0, "called", "lifespan")]))


@pytest.mark.parametrize(
    ("silent", "what", "verdict"),
    [
        ((), BROKEN, "fail"),
        (("shutdown-answered",), BROKEN, "info"),
        ((), seen("complete", "raised", **RAISED), "info"),
        ((), seen("failed", ""), "skip"),
        ((), seen(), "pass"),
    ],
)
def test_verdicts(silent: tuple[str, ...], what: AppObservation, verdict: str) -> None:
    """Where the text is silent nobody is at fault."""
    expect = Expectation("shutdown-answered", "answered")
    (found,) = app_assertions.findings(case(expect, silent=silent), "asgi 2.0", [what], USUAL)
    assert found.verdict == verdict
    assert ("does not specify this case" in found.requirement) == (verdict == "info")


def test_a_rule_that_a_specification_lacks_is_not_checked() -> None:
    """Lifespan 1.0 has no state, and so no rule about it."""
    expect = Expectation("state-keys-text", "kept")
    assert not [*app_assertions.findings(case(expect), "asgi 1.0", [seen()], USUAL)]
    assert not [*without(case(expect), "asgi 1.0", "skip", "No.")]


def test_what_is_missed_is_never_more_than_a_warning() -> None:
    """By PAGI the advice is a must, and yet nobody knows what the application wanted."""
    case = next(case for case in cases.load() if case.name == "start-and-stop")
    each = next(each for each in case.expect if each.phrase == "no raise")
    for spec in ("asgi 2.0", "pagi 0.3"):
        assert app_assertions.finding(case, spec, each, Outcome("missed", "So.")).verdict == "warn"


def test_a_case_is_for_its_specifications() -> None:
    """By AMGI a failure has a message: a case without it expects nothing there."""
    for name in ("failed-without-message", "shutdown-failed-without-message"):
        case = next(case for case in cases.load() if case.name == name)
        assert list(app_assertions.expected(case, "asgi 2.0"))
        assert not list(app_assertions.expected(case, "amgi 2.0"))
        assert not list(without(case, "amgi 2.0", "skip", "No."))
