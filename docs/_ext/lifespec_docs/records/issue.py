"""The text of an issue for a server's or middleware's project: what it breaks, and a program.

Whoever gets the issue can run the program, which needs nothing of lifespec.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lifespec.conformance.cases import Case
from lifespec.conformance.report import Verdict
from lifespec.conformance.report.programs import SHOP, Program, between, of_server
from lifespec.conformance.rules import MAIN, rules
from lifespec.conformance.sections import addresses
from lifespec_docs.records.record import Issue, Subject

__all__ = ["issue", "issues", "issues_between"]

BROKEN = Verdict.FAIL, Verdict.WARN
DOCUMENTED = ("Starlette Mount",)  # its documentation says that it starts no mounted application
# middleware that drops an answer keeps the application behind it from giving that answer
QUOTED = {"failed-to-prevent-start": "startup-answered"}
UNQUOTED = ("send-refuses-unknown",)  # the specification asks that of servers


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
        first, package = next(iter(broken)), next(iter(subject.versions))
        yield issue(package, shown[case.name, first], broken, python, spec)


def issues_between(
    subject: Mapping[str, Any], cases: Mapping[str, Case], python: str
) -> Iterator[Issue]:
    """Yield an issue for each case in which a middleware breaks rules which it does not before."""
    if subject["name"] in DOCUMENTED:
        return
    packages = ", ".join(map(" ".join, subject["versions"].items()))
    findings = (
        (each["case"], (QUOTED.get(each["rule"], each["rule"]), each["verdict"], each["actual"]))
        for each in subject["findings"]
        if each["rule"] not in UNQUOTED
    )
    for case, broken in _by_case(cases, findings):
        text = between(case, subject["needs"], subject["code"])
        shown = Program(SHOP, text, [f"python {SHOP}  # {packages}"])
        title = f"{subject['name']}: {next(iter(broken.values()))}"
        yield issue(next(iter(subject["versions"])), shown, broken, python, MAIN, title)


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


def issue(
    package: str, shown: Program, broken: Mapping[str, str], python: str, spec: str, title: str = ""
) -> Issue:
    """Return an issue about what a program shows: by rule, what was seen."""
    lines = [
        f"# Lifespan: {title or rules()[next(iter(broken))].says(spec)}",
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
