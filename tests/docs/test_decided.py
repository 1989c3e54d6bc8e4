"""The page of edge cases, held against what was decided, and its table.

Their programs run here once more: what a page shows is what they print, and what happens
meanwhile is noted in the server itself.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from published import ROOT, published

from lifespec.conformance.rules import rules
from lifespec.server import TABLE, StateMachine
from lifespec_docs.examples import runner
from lifespec_docs.rules.edge_cases import deciders, facts_of

__all__: list[str] = []

ERROR, TRACED = ("ERROR", ""), ("ERROR", " (with a traceback)")
INFO, WARNING, DEBUG = ("INFO", ""), ("WARNING", ""), ("DEBUG", " (with a traceback)")
NO, YES = "no", "yes"
# What was decided: the outcome, whether anything is served, what is raised, what is logged.
DECIDED: dict[str, tuple[str, str, list[str], list[tuple[str, str]]]] = {
    "startup-completes": ("None", YES, [], []),
    "startup-fails": ("failed", NO, ["StartupFailed"], [ERROR]),
    "startup-fails-without-text": ("failed", NO, ["StartupFailed"], [ERROR]),
    "raises-at-once": ("unsupported", YES, [], [INFO]),
    "raises-at-startup": ("unsupported", YES, [], [INFO, TRACED]),
    "returns-at-startup": ("unsupported", YES, [], [INFO]),
    "completes-too-early": ("complete", YES, [], []),
    "startup-lasts": ("timed_out", NO, ["StartupTimeout"], [ERROR]),
    "cancelled-at-startup": ("cancelled", NO, ["CancelledError"], []),
    "call-raises": ("unsupported", YES, [], [INFO, TRACED]),
    "call-returns-nothing": ("None", NO, ["TypeError"], []),
    "crashes": ("crashed", YES, [], [TRACED]),
    "leaves": ("returned", YES, [], [WARNING]),
    "crashes-right-away": ("crashed", YES, [], [TRACED]),
    "fails-while-running": ("crashed", YES, [], [ERROR, TRACED]),
    "server-stops": ("None", YES, ["OSError", "CancelledError"], []),
    "shutdown-completes": ("complete", YES, [], []),
    "shutdown-fails": ("failed", YES, ["ShutdownFailed"], [ERROR]),
    "both-fail": ("failed", YES, ["OSError"], [ERROR]),
    "crashes-at-shutdown": ("crashed", YES, [], [TRACED]),
    "leaves-at-shutdown": ("returned", YES, [], [WARNING]),
    "shutdown-lasts": ("timed_out", YES, ["ShutdownTimeout"], [ERROR]),
    "cancelled-at-shutdown": ("cancelled", YES, ["CancelledError"], []),
    "lingers": ("complete", YES, [], []),
    "raises-after-shutdown": ("complete", YES, [], [TRACED]),
    "receives-after-shutdown": ("complete", YES, [], []),
    "raises-after-failure": ("failed", NO, ["StartupFailed"], [ERROR, DEBUG]),
    "receives-after-failure": ("failed", NO, ["StartupFailed"], [ERROR]),
    "lingers-after-failure": ("failed", NO, ["StartupFailed"], [ERROR]),
    "answers-too-late": ("timed_out", NO, ["StartupTimeout"], [ERROR]),
    "raises-when-cancelled": ("timed_out", NO, ["StartupTimeout"], [ERROR, TRACED]),
    "ignores-cancellation": ("timed_out", YES, ["ShutdownTimeout"], [ERROR]),
    "cancelled-twice": ("cancelled", NO, ["CancelledError"], []),
    "sends-after-the-end": ("unsupported", YES, [], [INFO]),
    "receives-after-the-end": ("returned", YES, [], [WARNING]),
    "raises-after-it-was-given-up": ("timed_out", NO, ["StartupTimeout"], [ERROR, TRACED]),
    "sends-the-unknown": ("complete", YES, [], []),
    "answers-out-of-order": ("complete", YES, [], []),
    "answers-twice": ("complete", YES, [], []),
    "lets-a-refusal-pass": ("unsupported", YES, [], [INFO, TRACED]),
    "receives-again": ("complete", YES, [], []),
    "adds-keys": ("complete", YES, [], []),
    "raises-a-cancellation": ("unsupported", YES, [], [INFO, TRACED]),
    "exits": ("crashed", NO, ["SystemExit", "KeyboardInterrupt"], []),
}
# Who decided, where it is not we alone.
LIFESPAN, CORE, PAGI = "lifespan 2.0 (ASGI)", "the main specification of ASGI", "PAGI 0.3, adopted"
DECIDED_BY = {
    "startup-completes": {LIFESPAN},
    "startup-fails": {LIFESPAN},
    "raises-at-once": {LIFESPAN, PAGI},
    "raises-at-startup": {LIFESPAN, PAGI, "lifespec's choice"},
    "returns-at-startup": {PAGI},
    "call-raises": {LIFESPAN, PAGI, "lifespec's choice"},
    "crashes": {PAGI, "lifespec's choice"},
    "crashes-right-away": {PAGI, "lifespec's choice"},
    "server-stops": {LIFESPAN, "lifespec's choice"},
    "shutdown-completes": {LIFESPAN},
    "shutdown-fails": {LIFESPAN},
    "both-fail": {LIFESPAN, "lifespec's choice"},
    "receives-after-the-end": {LIFESPAN, "lifespec's choice"},
    "sends-the-unknown": {LIFESPAN, CORE},
    "lets-a-refusal-pass": {CORE, LIFESPAN, "lifespec's choice"},
    "receives-again": {LIFESPAN},
    "adds-keys": {CORE},
}
# By which rules.
DECIDED_BY_RULES = {
    "startup-completes": "wait-for-startup startup-answered",
    "startup-fails": "startup-failed-never-serves startup-failed-shown startup-failed-exits",
    "startup-fails-without-text": "message-is-text",
    "raises-at-once": "unsupported-by-raising unsupported-logged unsupported-gets-no-events",
    "raises-at-startup": "unsupported-by-raising unsupported-logged",
    "returns-at-startup": "unsupported-by-returning unsupported-never-blocks unsupported-logged",
    "completes-too-early": "answers-in-order",
    "startup-lasts": "wait-for-startup",
    "cancelled-at-startup": "wait-for-startup",
    "call-raises": "unsupported-by-raising unsupported-logged",
    "crashes": "crash-logged crash-may-continue crashed-gets-no-events",
    "leaves": "crashed-gets-no-events",
    "crashes-right-away": "crash-logged crash-may-continue",
    "server-stops": "shutdown-sent",
    "shutdown-completes": "wait-for-shutdown shutdown-answered",
    "shutdown-fails": "shutdown-failed-shown shutdown-failed-ends",
    "both-fail": "shutdown-failed-shown shutdown-failed-ends",
    "crashes-at-shutdown": "shutdown-answered",
    "leaves-at-shutdown": "shutdown-answered",
    "shutdown-lasts": "wait-for-shutdown",
    "cancelled-at-shutdown": "wait-for-shutdown",
    "lingers": "wait-for-shutdown",
    "answers-too-late": "send-after-end-does-nothing",
    "sends-after-the-end": "send-after-end-does-nothing",
    "receives-after-the-end": "unsupported-gets-no-events crashed-gets-no-events",
    "sends-the-unknown": "events-known send-refuses-unknown",
    "answers-out-of-order": "answers-in-order",
    "answers-twice": "startup-answered-once shutdown-answered-once",
    "lets-a-refusal-pass": "send-refuses-unknown unsupported-by-raising",
    "receives-again": "wait-for-startup wait-for-shutdown",
    "adds-keys": "extra-keys-ignored",
}


def cases(page: str, kind: str) -> dict[str, list[int]]:
    """Find the numbers of the programs of each case of a page."""
    lines = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").split("\n")
    heads = {
        number: line.split()[1] if line.startswith(f":::{{{kind}}}") else ""
        for number, line in enumerate(lines, 1)
        if line.startswith((f":::{{{kind}}}", "## "))
    }
    found: dict[str, list[int]] = {name: [] for name in heads.values() if name}
    for number, block in enumerate(published()["en"][page]):
        above = [head for head in heads if head < block.line]
        if above and heads[above[-1]]:
            found[heads[above[-1]]].append(number)
    return found


def run(page: str, language: str) -> Iterator[runner.Run]:
    """Run the programs of a page, one after another."""
    with runner.Session(published()[language][page]) as session:
        yield from (session.run(number) for number in range(len(session.blocks)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_runs_is_what_was_decided(language: str) -> None:
    """Every case that was decided is on the page, in both languages, and none besides."""
    outputs = [done.output for done in run("edge-cases", language)]
    found = {}
    for name, numbers in cases("edge-cases", "decision").items():
        facts = facts_of(outputs[number] for number in numbers)
        outcomes, served = facts["outcome"], facts["served"]
        assert (len(outcomes), len(served)) == (1, 1), name
        found[name] = (outcomes[0], served[0], facts["raises"], facts["log"])
    assert found == DECIDED


def test_who_decided_is_what_the_rules_say() -> None:
    """What a text says is laid to it, and what is ours to nobody else."""
    text = (ROOT / "docs" / "edge-cases.md").read_text(encoding="utf-8")
    found, named = {}, {}
    for name, lines in re.findall(r"^:::{decision} (.+)((?:\n:.*)+)", text, re.MULTILINE):
        options = dict(re.findall(r":(\w+): ?(.*)", lines))
        named[name] = options.get("rules", "")
        named_rules = [rules()[rule_id] for rule_id in options.get("rules", "").split()]
        ours = (options["lifespec"] or "alone") if "lifespec" in options else None
        found[name] = set(deciders(named_rules, ours, str))
    assert found == {name: {"lifespec's choice"} for name in DECIDED} | DECIDED_BY
    assert named == dict.fromkeys(DECIDED, "") | DECIDED_BY_RULES


def test_every_step_of_the_server_is_met_by_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of server.TABLE is taken by a program below a decision; a row without is named."""
    here: set[tuple[str, str]] = set()
    met: set[tuple[str, str]] = set()
    happened = StateMachine._transition

    def noted(self: Any, what: str, *rest: Any) -> bool:
        here.add((self.phase, what))
        return happened(self, what, *rest)

    monkeypatch.setattr(StateMachine, "_transition", noted)
    numbers = {n for numbers in cases("edge-cases", "decision").values() for n in numbers}
    for number, _ in enumerate(run("edge-cases", "en")):
        if number in numbers:
            met |= here
        here.clear()
    rows = [(phase, what) for phase, rows in TABLE.items() for what in rows]
    assert [row for row in rows if row not in met] == []
