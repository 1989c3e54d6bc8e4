"""What a report tells of a rule in full, and how its lines are set for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lifespec.catalog import columns, wrapped
from lifespec.conformance.cases import Role, vocabulary
from lifespec.conformance.finding import Finding, Verdict
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import fact
from lifespec.testing.trace import sequence
from lifespec.words import Words, base, sentences, site

TIMES_FROM = 1.0  # seconds of a message sequence from which on its times are drawn
COLOURS = {"fail": "1;31", "warn": "33", "pass": "32", "info": "36", "skip": "2"}
BOLD, DIM = "1", "2"
IN_FULL = (Verdict.FAIL, Verdict.WARN)  # what is explained in full without --verbose
HINTS = {"not-served-waits": "unsupported-never-blocks"}  # kinds that another rule's hint explains


def case_names(findings: Iterable[Finding]) -> list[str]:
    """Return the cases of findings, each once, in their order."""
    return list(dict.fromkeys(finding.case for finding in findings))


@dataclass(frozen=True)
class Blocks:
    """Sets blocks of findings about a role, in one language and width."""

    words: Words
    width: int
    colours: bool
    role: Role
    strict: bool

    def say(self, kind: str, /, **parts: Any) -> str:
        """Return a sentence."""
        return self.words.say(fact(kind, **parts))

    def is_fault(self, finding: Finding) -> bool:
        """Tell whether a rule was broken or missed; if strict, one of lifespec's own, too."""
        return finding.verdict in IN_FULL or finding.fails(strict=self.strict)

    def grid(self, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Yield rows with a label each; a label that repeats is left out."""
        rows = [(self.words.translate(label), text) for label, text in rows]
        room = 3 + max([columns(label) for label, _text in rows], default=0)
        last = ""
        for label, text in rows:
            # the colours take no columns, so that the label is padded by hand
            head = self.painted(label, BOLD) + " " * (room - columns(label))
            if label == last:
                head = " " * room
            last = label
            for paragraph in text.split("\n"):
                for line in wrapped(paragraph, self.width - room):
                    yield f"{head}{line}".rstrip()  # of an empty line the padding would stay
                    head = " " * room

    def block(self, grouped: Sequence[Finding]) -> Iterator[str]:
        """Yield what was found about a rule, in one case or in several."""
        finding = grouped[0]
        title = f"{finding.verdict.upper()} {finding.rule} "
        dashes = self.painted("-" * (self.width - columns(title)), DIM)
        yield self.painted(title, COLOURS[finding.verdict]) + dashes
        rows = self.rows(finding, self.words.listed(case_names(grouped)))
        yield from self.grid([(label, text) for label, text in rows.items() if text])
        if finding.entries:
            yield ""
            yield from self.sequence(finding)

    def rows(self, finding: Finding, cases: str) -> dict[str, str]:
        """Return what stands in the block of a finding, by label."""
        specified = "specified" if finding.verdict == Verdict.INFO else "requirement"
        rows = {
            "case": cases,
            specified: self.requirement(finding),
            "expected": self.expected(finding),
            "actual": self.words.say(finding.observed),
        }
        if finding.framework:
            rows["origin"] = self.say("by-framework", framework=finding.framework)
        elif self.is_fault(finding):
            rows["hint"] = self.hint(finding)
        # a copy that was built without the address of its site knows none
        there = f"\n{site(self.words.language)}{rules()[finding.rule].address}" if base() else ""
        rows["more"] = f"lifespec explain {finding.rule}{there}"
        return rows

    def hint(self, finding: Finding) -> str:
        """Return the usual cause of what was observed, else of a breach of the rule."""
        # most kinds have none of their own, and a rule's names what breaks it most often
        own = f"hint-{finding.kind}"
        if own in sentences():
            return self.say(own)
        rule = rules()[HINTS.get(finding.kind, finding.rule)]
        return self.words.translate(rule.hint_for(self.role))

    def requirement(self, finding: Finding) -> str:
        """Return the sentence of the rule, and its level in the specification."""
        rule, words = rules()[finding.rule], self.words
        says = rule.says(words.spec, words.translate)
        level = words.translate(rule.level(words.spec))
        if not level:
            return self.say("requirement-ours", says=says)
        if finding.verdict == Verdict.INFO:
            return self.say("requirement-open", title=words.title)
        return self.say("requirement", says=says, level=level, title=words.title)

    def expected(self, finding: Finding) -> str:
        """Return what the case expected, or ""."""
        if not finding.phrase:
            return ""
        says = self.words.translate(vocabulary().phrases[finding.phrase].says)
        if finding.argument:
            return self.say("expected", says=says, argument=finding.argument)
        return says

    def sequence(self, finding: Finding) -> Iterator[str]:
        """Yield the diagram of a message sequence; a detail that is a fact becomes a sentence."""
        # times that differ from run to run tell nothing where all of it took no time
        is_timed = self.role == "server" or finding.entries[-1].time >= TIMES_FROM
        entries = []
        for entry in finding.entries:
            time = entry.time if is_timed else 0.0
            entries.append(replace(entry, time=time, detail=self.words.part(entry.detail)))
        right = "middleware" if self.role == "middleware" else "application"
        yield from sequence(entries, "server", right, self.words.translate, columns).split("\n")

    def painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colours else text
