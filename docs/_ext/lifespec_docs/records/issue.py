"""The text of an issue for a server's or middleware's project: what it breaks, and a program.

Whoever gets the issue can run the program, which needs nothing of lifespec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.report.model import Verdict
from lifespec.conformance.report.programs import SHOP, Program, between, of_server
from lifespec.conformance.rules import MAIN, rules
from lifespec.conformance.sections import addresses
from lifespec_docs.records.record import Issue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from lifespec.conformance.cases import Case
    from lifespec_docs.records.record import Subject

__all__ = ["issues", "issues_between"]

BROKEN = Verdict.FAIL, Verdict.WARN


def issues(
    subject: Subject, cases: Mapping[str, Case], python: str, spec: str = MAIN
) -> Iterator[Issue]:
    """Yield an issue for each case that breaks rules which none before it breaks."""
    note = f"  # {subject.packages}"
    shown = {
        each[:2]: program
        for each in subject.findings
        if each.case in cases and not each.silent
        if (program := of_server(subject.command, cases[each.case], each.rule, spec, note))
    }
    findings = ((each.case, each[1:4]) for each in subject.findings if each[:2] in shown)
    for case, broken in _by_case(cases, findings):
        first = next(iter(broken))
        title, package = rules()[first].says(spec), next(iter(subject.versions))
        yield _issue(title, package, shown[case.name, first], broken, python, spec)


def issues_between(
    subject: Mapping[str, Any], cases: Mapping[str, Case], python: str
) -> Iterator[Issue]:
    """Yield an issue for each case in which a middleware breaks rules which it does not before."""
    packages = ", ".join(map(" ".join, subject["versions"].items()))
    findings = (
        (each["case"], (each["rule"], each["verdict"], each["actual"]))
        for each in subject["findings"]
    )
    for case, broken in _by_case(cases, findings):
        text = between(case, subject["needs"], subject["code"])
        shown = Program(SHOP, text, [f"python {SHOP}  # {packages}"])
        title = f"{subject['name']}: {next(iter(broken.values()))}"
        yield _issue(title, next(iter(subject["versions"])), shown, broken, python, MAIN)


def _by_case(
    cases: Mapping[str, Case], findings: Iterable[tuple[str, tuple[str, str, str]]]
) -> Iterator[tuple[Case, dict[str, str]]]:
    """Yield the cases that break rules which none before it breaks, with what was seen of each."""
    found: dict[str, dict[str, str]] = {}
    told: set[str] = set()
    for name, (rule, verdict, actual) in findings:
        if (
            name in cases
            and verdict in BROKEN
            and (rule not in told or rule in found.get(name, ()))
        ):
            told.add(rule)
            found.setdefault(name, {}).setdefault(rule, actual)
    yield from ((cases[name], broken) for name, broken in found.items())


def _issue(
    title: str,
    package: str,
    shown: Program,
    broken: Mapping[str, str],
    python: str,
    spec: str,
) -> Issue:
    lines = [
        f"# Lifespan: {title}",
        "",
        f"Thank you for {package}. I ran this application, `{shown.name}`, on {python}:",
        "",
        "```python",
        shown.text.rstrip("\n"),
        "```",
        "",
        "```sh",
        *shown.run,
        "```",
    ]
    for name, seen in broken.items():
        rule = rules()[name]
        section, where = next(iter(addresses(rule, spec).items()))
        lines += [
            "",
            f"> {rule.says(spec)}",
            "",
            f"That is how I read [“{section}”]({where}) of the specification ({rule.level(spec)}).",
            f"What I saw: {seen}",
        ]
    return Issue([*broken], "\n".join(lines))
