"""Findings: verdicts by the level of the text, and what becomes of them together."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from lifespec.conformance.oldreport.model import Finding, Report, Verdict, requirement, verdict_for
from lifespec.conformance.rules import rules

__all__: list[str] = []


def finding(
    verdict: str, rule_id: str = "startup-answered", case: str = "one", **said: str
) -> Finding:
    """Make a finding."""
    text = {"requirement": "It answers.", "expected": "it answers", "actual": "It left.", **said}
    return Finding(case, rule_id, Verdict.named(verdict), **text)


@pytest.mark.parametrize(
    ("rule_id", "spec", "held", "silent", "verdict"),
    [
        ("startup-answered", "asgi 2.0", True, False, "pass"),
        ("startup-answered", "asgi 2.0", True, True, "pass"),
        ("startup-answered", "asgi 2.0", False, False, "fail"),
        ("startup-answered", "asgi 2.0", False, True, "info"),
        ("state-untouched", "asgi 2.0", False, False, "fail"),  # a must not
        ("startup-failed-exits", "asgi 2.0", False, False, "warn"),
        ("extra-keys-ignored", "asgi 2.0", False, False, "warn"),  # a should not
        ("crash-may-continue", "pagi 0.3", False, False, "info"),  # a may
        ("startup-answered-once", "asgi 2.0", False, False, "info"),  # ours
        ("scope-worker", "asgi 2.0", False, False, "info"),  # a text without workers
    ],
)
def test_verdicts(rule_id: str, spec: str, held: bool, silent: bool, verdict: str) -> None:
    """A must that is broken is a violation, a should a departure; the rest is told."""
    assert verdict_for(rule_id, spec, held=held, silent=silent) == verdict


def test_requirements() -> None:
    """A requirement is the sentence of a specification; where it has none, what lifespec does."""
    sentence = rules()["startup-answered"].says("asgi 2.0")
    wanted = f"{sentence} (must, lifespan 2.0 (ASGI))"
    assert requirement("startup-answered", "asgi 2.0") == wanted
    silent = requirement("startup-answered", "asgi 2.0", silent=True)
    assert silent == f"{sentence} (lifespan 2.0 (ASGI) does not specify this case)"
    ours = requirement("startup-answered-once", "pagi 0.3")
    assert ours.startswith("`Lifespan` refuses a second answer to `lifespan.startup`")
    assert ours.endswith(" (not specified, PAGI 0.3)")


def test_an_obstacle() -> None:
    """What could not be checked has status 2, unless a must was broken before."""
    passed, failed = finding("pass"), finding("fail", "events-known")
    found = Report("it", "asgi 2.0", (passed,), obstacle="Its startup failed.")
    assert (found.status(), found.unchecked) == (2, "Its startup failed.")
    assert Report("it", "asgi 2.0", (passed, failed), obstacle="It failed.").status() == 1
    skipped = Report("it", "asgi 2.0", (finding("skip", actual="No redis."),))
    assert skipped.unchecked == "No redis."
    assert Report("it", "asgi 2.0", ()).unchecked == "There is no case for it."


def test_an_application_without_lifespan() -> None:
    """It may be so; who asks strictly wants it to be otherwise."""
    found = Report("it", "asgi 2.0", (finding("skip"),), supported=False)
    assert (found.status(), found.status(strict=True)) == (0, 1)


def test_what_is_not_its_own_doing_fails_nobody() -> None:
    """A should that the framework misses is told, and does not count."""
    theirs = Report("it", "asgi 2.0", (finding("warn", whose="This comes from Starlette."),))
    assert (theirs.status(strict=True), theirs.counts()) == (0, {"warn": 1})
    must = Report("it", "asgi 2.0", (finding("fail", whose="This comes from Starlette."),))
    assert must.status() == 1


def test_rules_can_be_left_out() -> None:
    """Then they count nowhere."""
    found = Report("it", "asgi 2.0", (finding("fail"), finding("pass", "events-known")))
    assert found.without(["startup-answered"]).counts() == {"pass": 1}
    assert found.without([]) == found


def test_a_finding_is_read_from_json() -> None:
    """As it was written."""
    one = finding("warn", whose="This comes from Starlette.")
    row = json.loads(json.dumps(asdict(one)))
    assert Finding.read(row) == one
    assert isinstance(Finding.read(row).verdict, Verdict)


def test_the_process_of_a_case_loads_nothing_heavy() -> None:
    """What plays and checks a case loads the standard library and this package alone."""
    program = "import sys, lifespec.conformance.app.check; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60).split()
    bare = subprocess.check_output(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], text=True, timeout=60
    ).split()
    others = {name.split(".")[0] for name in {*loaded} - {*bare}} - {"lifespec"}
    assert others <= sys.stdlib_module_names
