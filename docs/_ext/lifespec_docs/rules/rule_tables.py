"""What a page draws from our tables: the state diagram, and the list of all rules."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec import validate
from lifespec.conformance import cases
from lifespec.conformance.rules import Rule, level_lines
from lifespec.conformance.words import mark as _
from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import note_cases, sentences, words
from lifespec_docs.rules.domain import RuleDomain, inlines, refer
from lifespec_docs.rules.spec_tables import NONE, grid
from lifespec_docs.rules.validator_messages import message_of

__all__ = ["RulesDirective", "StatesDirective", "setup"]


COMMANDS = {
    "server": "lifespec check server",
    "application": "lifespec check app",
    "middleware": "lifespec check middleware",
}


class StatesDirective(SphinxDirective):
    """The state diagram, drawn from validate.TRANSITIONS."""

    def run(self) -> list[nodes.Node]:
        """Return the drawing."""
        svg = drawing.states(validate.TRANSITIONS, words(self.env))
        html = f'<figure class="states">{svg}</figure>'
        return [nodes.raw("", html, format="html", classes=["no-search"])]


class RulesDirective(SphinxDirective):
    """All rules as a table."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        note_cases(self.env)
        self.translate = words(self.env)
        domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        titles = map(self.translate, (_("Rule"), _("Reported as"), _("Usual cause and fix")))
        head = _row([[nodes.paragraph("", title)] for title in titles])
        rows = (
            _row([self._duty(rule), list(self._reported(rule)), list(self._hints(rule))])
            for rule in domain.book.values()
        )
        return [grid(head, rows, (30, 30, 40), "rules", "no-search")]

    def _duty(self, rule: Rule) -> list[nodes.Element]:
        """Return the link to the rule, its role, and its level in each specification."""
        link = refer(self.env.docname, "rule", rule.rule_id, refwarn=True)
        lines = [self.translate(rule.role), *level_lines(rule, self.translate)]
        return [
            nodes.paragraph("", "", link),
            nodes.line_block("", *(nodes.line("", line, translatable=False) for line in lines)),
        ]

    def _reported(self, rule: Rule) -> Iterator[nodes.Element]:
        """Yield the message of the validator, and the commands whose cases expect the rule."""
        message, commands = message_of(rule.rule_id), commands_of(rule.rule_id)
        if message:
            yield nodes.paragraph("", "", nodes.literal("", message))
        if commands:
            line = nodes.paragraph("", self.translate("Checked by"), classes=["checked-by"])
            for number, command in enumerate(commands):
                comma = self.translate(", ") if number else " "
                line += [nodes.Text(comma), nodes.literal("", command)]
            yield line
        if not (message or commands):
            yield nodes.paragraph("", self.translate("cannot be observed"))

    def _hints(self, rule: Rule) -> Iterator[nodes.Element]:
        """Yield the usual cause and the fix, for the role and for middleware."""
        for role, head, text in rule.hints:
            if role:
                yield nodes.paragraph("", self.translate(head), classes=["hint-head"])
            yield nodes.paragraph("", "", *inlines(sentences(self.env)(text)))
        if not rule.hint:
            yield nodes.paragraph("", NONE)


@cache
def commands_of(rule_id: str) -> tuple[str, ...]:
    """Return the commands that play a case in which a rule is expected."""
    roles = {case.role for case in cases.load() for each in case.expect if each.rule == rule_id}
    return tuple(command for role, command in COMMANDS.items() if role in roles)


def _row(cells: Iterable[Iterable[nodes.Element]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def setup(app: Sphinx) -> None:
    """Register `{states}` and `{rules}`."""
    app.add_directive("states", StatesDirective)
    app.add_directive("rules", RulesDirective)
