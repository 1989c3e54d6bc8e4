"""Findings: verdicts by the level of the text, and what becomes of them together."""

import subprocess
import sys

import pytest

from lifespec.conformance.cases import rules
from lifespec.conformance.findings import Finding, Report, Verdict, requirement, verdict_for

__all__: list[str] = []


def finding(
    verdict: Verdict, slug: str = "startup-answered", case: str = "one", **said: str
) -> Finding:
    """Make a finding."""
    text = {"requirement": "It answers.", "expected": "it answers", "actual": "It left.", **said}
    return Finding(case, slug, verdict, **text)


@pytest.mark.parametrize(
    ("slug", "dialect", "held", "silent", "verdict"),
    [
        ("startup-answered", "asgi 2.0", True, False, "conforms"),
        ("startup-answered", "asgi 2.0", True, True, "conforms"),
        ("startup-answered", "asgi 2.0", False, False, "violates"),
        ("startup-answered", "asgi 2.0", False, True, "unspecified"),
        ("state-untouched", "asgi 2.0", False, False, "violates"),  # a must not
        ("startup-failed-exits", "asgi 2.0", False, False, "departs"),
        ("extra-keys-ignored", "asgi 2.0", False, False, "departs"),  # a should not
        ("crash-may-continue", "pagi 0.3", False, False, "unspecified"),  # a may
        ("startup-answered-once", "asgi 2.0", False, False, "unspecified"),  # ours
        ("scope-worker", "asgi 2.0", False, False, "unspecified"),  # a text without workers
    ],
)
def test_verdicts(slug: str, dialect: str, held: bool, silent: bool, verdict: str) -> None:  # noqa: FBT001
    """A must that is broken is a violation, a should a departure; the rest is told."""
    assert verdict_for(slug, dialect, held=held, silent=silent) == verdict


def test_requirements() -> None:
    """A requirement is the sentence of a specification; where it has none, what lifespec does."""
    sentence = rules()["startup-answered"].says["asgi 2.0"]
    wanted = f"{sentence} (must, lifespan 2.0 (ASGI))"
    assert requirement("startup-answered", "asgi 2.0") == wanted
    silent = requirement("startup-answered", "asgi 2.0", silent=True)
    assert silent == f"{sentence} (but lifespan 2.0 (ASGI) does not specify this case)"
    ours = requirement("startup-answered-once", "pagi 0.3")
    assert ours.startswith("PAGI 0.3 does not specify this. `Lifespan` refuses a second answer")


def test_a_sentence_has_the_level_of_its_specification() -> None:
    """It is worded once; a specification that differs in more has a sentence of its own."""
    says = rules()["failed-to-prevent-start"].says
    assert " should send " in says["asgi 2.0"]
    assert says["pagi 0.3"] == says["asgi 2.0"].replace(" should send ", " must send ")
    says = rules()["startup-failed-exits"].says
    assert says["asgi 2.0"].endswith(" should exit.")
    assert says["amgi 2.0"].endswith(" should terminate the application.")


@pytest.mark.parametrize(
    ("verdicts", "status", "strict"),
    [
        (["conforms", "unspecified"], 0, 0),
        (["not applicable"], 0, 0),
        (["conforms", "departs"], 0, 1),
        (["departs", "violates"], 1, 1),
        (["violates", "not run"], 1, 1),
        (["conforms", "not run"], 0, 0),
        (["not run"], 2, 2),
        ([], 2, 2),
    ],
)
def test_exit_status(verdicts: list[Verdict], status: int, strict: int) -> None:
    """A violation fails, if strict a departure too; where nothing ran, nothing was checked."""
    findings = [finding(verdict, "events-known", str(n)) for n, verdict in enumerate(verdicts)]
    one_rule = Report("it", "asgi 2.0", tuple(findings))
    each_its_own = Report(
        "it",
        "asgi 2.0",
        tuple(finding(verdict, slug) for verdict, slug in zip(verdicts, "abc", strict=False)),
    )
    for found in (one_rule, each_its_own):
        if found is each_its_own or "not run" not in verdicts or "conforms" not in verdicts:
            assert (found.status(), found.status(strict=True)) == (status, strict)


def test_the_process_of_a_case_loads_nothing_heavy() -> None:
    """What plays and judges a case loads the standard library and this package alone."""
    program = "import sys, lifespec.conformance.apart; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60).split()
    bare = subprocess.check_output(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], text=True, timeout=60
    ).split()
    others = {name.split(".")[0] for name in {*loaded} - {*bare}} - {"lifespec"}
    assert others <= sys.stdlib_module_names
