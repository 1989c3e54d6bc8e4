"""The words of a report in the reader's language: a fact becomes a sentence with its parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lifespec.conformance import explain
from lifespec.conformance.cases import vocabulary
from lifespec.conformance.report import Fact, Finding, Report, Verdict
from lifespec.conformance.rules import names, rules
from lifespec.conformance.text import app, command, server
from lifespec.conformance.texts import printable
from lifespec.conformance.words import mark as _
from lifespec.conformance.words import translator
from lifespec.testing import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.testing.trace import Entry

__all__ = ["SENTENCES", "Words"]

SENTENCES: Mapping[str, str] = {
    "text": "{text}",
    "checks": _("checks {rules}"),
    "no-case": _("There is no case for it."),
    "stopped": _("Not run: another case failed before."),
    "by-framework": _("This is the doing of {framework}, not of your code."),
    **facts.SENTENCES,
    **app.SENTENCES,
    **server.SENTENCES,
    **command.SENTENCES,
}


class Words:
    """The words of a report in one language, about one specification."""

    def __init__(self, language: str = "en", spec: str = "asgi 2.0") -> None:
        self.language, self.spec, self.translate = language, spec, translator(language)

    def word(self, english: str, **parts: Any) -> str:
        """Return a word, or a sentence with its parts in place."""
        text = self.translate(english)
        return text.format(**{name: self.part(each) for name, each in parts.items()})

    def say(self, fact: Fact) -> str:
        """Return the sentence of a fact."""
        template = SENTENCES[fact.kind]
        text = self.word(template, **fact.parts)
        begins = template.startswith("{") and template.endswith(".")  # with a part of a sentence
        return f"{text[:1].upper()}{text[1:]}" if begins else text

    def part(self, part: Any) -> str:
        """Return what stands in the place of a part: each character of it can be printed."""
        if isinstance(part, Fact):
            return self.say(part)
        if isinstance(part, tuple):
            return self.listed(map(self.part, part))
        text = f"{part:g}" if isinstance(part, float) else str(part)
        return "\n".join("".join(map(printable, line)) for line in text.split("\n"))

    def listed(self, items: Iterable[str]) -> str:
        """Return items with commas between them."""
        return self.translate(_(", ")).join(items)

    def first_of(self, items: Sequence[str]) -> str:
        """Return the first item, and how many more there are."""
        if len(items) == 1:
            return items[0]
        return self.word(_("{name} and {count} more"), name=items[0], count=len(items) - 1)

    @property
    def title(self) -> str:
        """The name of the specification."""
        return names([self.spec], self.translate)

    def headline(self, report: Report) -> str:
        """Return the first line: whether it keeps the specification, or what it does not do."""
        ours = server if report.role == "server" else app
        return self.word(ours.headline(report), subject=report.subject, title=self.title)

    def rules(self, report: Report) -> Iterator[str]:
        """Yield lines on how many rules were kept, and which were not judged and why."""
        if report.role == "server":
            yield from map(self.say, server.rules(report))
            return
        frameworks = [(each.rule, each.framework) for each in _worst(report) if each.framework]
        theirs = [rule for rule, _name in frameworks]
        verdicts, counts = report.verdicts().items(), []
        for verdict, line in (
            (Verdict.FAIL, _("{count} broken: {names}")),
            (Verdict.WARN, _("{count} missed: {names}")),
            (Verdict.PASS, _("{count} kept")),
        ):
            names = tuple(rule for rule, each in verdicts if each == verdict and rule not in theirs)
            if names:
                counts.append(self.word(line, count=len(names), names=names))
        yield from [self.translate(_("; ")).join(counts)] if counts else []
        for name in dict.fromkeys(name for _rule, name in frameworks):
            names = tuple(rule for rule, other in frameworks if other == name)
            line = _("{count} that {name} decides: lifespec explain {names}")
            yield self.word(line, count=len(names), name=name, names=names)
        reasons = [each.observed for each in _worst(report) if each.verdict == Verdict.SKIP]
        for reason, count in Counter(
            each for each in reasons if each.kind in app.NOT_JUDGED
        ).items():
            yield self.word(_("{count} not judged: {reason}"), count=count, reason=self.say(reason))

    def requirement(self, finding: Finding) -> str:
        """Return the sentence of the rule, and its level in the specification."""
        rule = rules()[finding.rule]
        says = rule.says(self.spec, self.translate)
        level = self.translate(rule.level(self.spec))
        if not level:
            return self.word(_("not specified. lifespec: {says}"), says=says)
        if finding.verdict == Verdict.INFO:
            return self.word(_("{title} does not specify this case."), title=self.title)
        return self.word(_("{says} ({level}, {title})"), says=says, level=level, title=self.title)

    def expected(self, finding: Finding) -> str:
        """Return what was to be seen."""
        says = self.translate(vocabulary().phrases[finding.phrase].says) if finding.phrase else ""
        if finding.argument:
            return self.word(_("{says}: {argument}"), says=says, argument=finding.argument)
        return says

    def origin(self, finding: Finding) -> str:
        """Return which framework decides this, or ""."""
        return self.word(SENTENCES["by-framework"], framework=finding.framework) * bool(
            finding.framework
        )

    def hint(self, finding: Finding, role: str) -> str:
        """Return what the author of that role can do about a finding, or ""."""
        broken = finding.verdict in (Verdict.FAIL, Verdict.WARN)
        rule_id = server.HINTS.get(finding.kind, finding.rule)
        return self.translate(rules()[rule_id].hint_for(role)) if broken else ""

    def more(self, rule_id: str, *, linked: bool) -> str:
        """Return the command that explains a rule, and its page if the site has an address."""
        page = f"\n{explain.address(rules()[rule_id], self.language)}" * linked
        return f"lifespec explain {rule_id}{page}"

    def drawn(self, entries: Sequence[Entry], right: str, sequence: Callable[..., str]) -> str:
        """Return the diagram of a message sequence; a detail that is a fact becomes a sentence."""
        worded = [replace(each, detail=self.part(each.detail)) for each in entries]
        return sequence(worded, _("server"), right, word=self.word, columns=explain.columns)


def _worst(report: Report) -> list[Finding]:
    """Return the finding that decides about each rule."""
    return [found[0] for found in report.by_rule().values()]
