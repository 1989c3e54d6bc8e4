"""The clarifications that proposals.toml proposes, and the text of lifespan 2.0 with them.

What servers do is drawn from the records: a server already does as proposed if it passes in all
cases of the proposal that could be observed and did so under `make loglines`, and would change if
it does not.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lifespec.conformance.report import Verdict
from lifespec_docs.i18n.restructured import Block, blocks, wrapped, written
from lifespec_docs.records.record import Subject

__all__ = [
    "Changed", "Proposal", "Seen", "diff", "observed", "present", "proposals", "proposed",
    "text", "without",
]  # fmt: skip

PRESENT = Path(__file__).with_name("lifespan-2.0.rst")
FILE = "specs/lifespan.rst"  # its name where it is published


class Seen(NamedTuple):
    """A rule in a case of the suite; what was seen is as proposed if it passes, and matches."""

    case: str
    rule: str
    pattern: str = ""


class Proposal(NamedTuple):
    """One clarification: the ambiguities that it removes, the present words, the proposed ones."""

    name: str
    title: str
    ambiguities: tuple[str, ...]
    section: str
    quote: str
    reason: str
    issues: tuple[str, ...]
    seen: tuple[Seen, ...]
    log: str  # what a line matches that a server logs for an exception after startup was received
    late: bool  # whether it is about a request that is open for longer than the user allows
    page: str  # shows who does so, if these are no servers
    wording: str
    alternatives: tuple[tuple[str, str], ...]  # a wording, and who asks for it


class Changed(NamedTuple):
    """A block of the proposed text, and the one of the present text that it replaces."""

    block: Block
    new: bool
    gone: Block | None = None


def present() -> str:
    """Return the present text of the specification."""
    return PRESENT.read_text(encoding="utf-8")


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def proposals() -> tuple[Proposal, ...]:
    """Return the proposals in the order of the specification."""
    data = _data()
    wordings = {row["proposal"]: row["says"] for row in data["change"]}
    others: dict[str, list[tuple[str, str]]] = {}
    for row in data["alternative"]:
        others.setdefault(row["proposal"], []).append((row["says"]["wording"], row["says"]["who"]))
    return tuple(
        Proposal(
            row["name"], row["title"], tuple(row["ambiguities"]), row["section"],
            row.get("quote", ""), row["says"], tuple(row.get("issues", ())),
            tuple(Seen(*each) for each in row.get("seen", ())),
            row.get("log", ""), row.get("late", False), row.get("page", ""),
            wordings[row["name"]], tuple(others.get(row["name"], ())),
        )
        for row in data["proposal"]
    )  # fmt: skip


def without() -> list[tuple[list[str], str]]:
    """Return the ambiguities for which nothing is proposed, with the reason."""
    return [(row["ambiguities"], row["says"]) for row in _data()["without"]]


def proposed() -> Iterator[Changed]:
    """Yield the blocks of the proposed text; LookupError if a change has no one place."""
    data = _data()
    changes = [{"after": "**Version**", **data["note"]}, *data["change"]]
    told = [*blocks(present())]
    for change in changes:
        start = change.get("after") or change["instead"]
        if [_begins(block, start) for block in told].count(True) != 1:
            raise LookupError(f"Not one block of {PRESENT.name} begins with {start!r}.")
    for block in told:
        instead = [each for each in changes if _begins(block, each.get("instead"))]
        if instead:
            new = wrapped(instead[0]["says"], block.raw)._replace(before=block.before)
            yield Changed(new, True, block)  # noqa: FBT003  the field has a name
        else:
            yield Changed(block, False)  # noqa: FBT003  the same
        for change in (each for each in changes if _begins(block, each.get("after"))):
            yield Changed(wrapped(change["says"], ""), True)  # noqa: FBT003  the same


def _begins(block: Block, start: str | None) -> bool:
    return bool(start) and " ".join(block.raw.split()).startswith(start or "")


def text(translate: Callable[[str], str] | None = None) -> str:
    """Return the proposed text, in English as its authors wrote it or in another language."""
    parts = (
        each.block.before + (written(each.block, translate) if translate else each.block.raw)
        for each in proposed()
    )
    return "".join(parts) + "\n"


def diff() -> str:
    """Return what changes, for `git apply` in a checkout of asgiref."""
    before, after = (each.splitlines(keepends=True) for each in (present(), text()))
    return "".join(difflib.unified_diff(before, after, f"a/{FILE}", f"b/{FILE}"))


def observed(
    proposal: Proposal, subjects: Iterable[Subject], logged: Mapping[str, Any]
) -> dict[bool, list[str]]:
    """Return the servers that already do as proposed, and under False those that would change.

    `logged` has the rows of the record loglines by the names of their servers.
    """
    found: dict[bool, list[str]] = {True: [], False: []}
    for subject in subjects:
        answers = [
            each.verdict == Verdict.PASS and bool(re.search(seen.pattern, each.actual))
            for seen in proposal.seen
            for each in subject.findings
            if each[:2] == seen[:2] and each.verdict != Verdict.SKIP
        ]
        row = logged.get(subject.name)
        if row and answers:
            answers += _logged(proposal, row)
        if answers and (row or not all(answers) or not (proposal.log or proposal.late)):
            name, _, variant = subject.name.partition(", ")
            found[all(answers)].append(f"{name} ({variant})" if variant else name)
    return found


def _logged(proposal: Proposal, row: Mapping[str, Any]) -> Iterator[bool]:
    """Yield whether a server did as proposed in each run that belongs to the proposal."""
    if proposal.log:
        lines = row["runs"]["raises"]["SIGTERM"]["lines"]
        yield any(re.search(proposal.log, line) for line in lines)
    if proposal.late:
        *_, limited = row["waits"].values()
        yield limited["shutdown"]
