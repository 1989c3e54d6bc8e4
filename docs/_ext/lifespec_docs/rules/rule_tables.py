"""What a page draws from our tables: the state diagram, and the list of all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from lifespec import validate
from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.citations import level_line, source_lines
from lifespec_docs.rules.domain import RuleDomain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    from lifespec_docs.rules.rulebook import Rule

__all__ = ["RuleTable", "RulesDirective", "StatesDirective", "rules_node", "setup"]


class rules_node(nodes.General, nodes.Element):
    """Stands for the table of all rules until every page has been read."""


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
        """Return a place for the table: the pages of the rules are not known yet."""
        return [rules_node()]


class RuleTable(SphinxPostTransform):
    """Puts the table of all rules in its place, before links are resolved."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Replace each place by a table."""
        for place in list(self.document.findall(rules_node)):
            place.replace_self(self._table())

    def _table(self) -> nodes.table:
        translate = words(self.env)
        domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        group = nodes.tgroup(cols=4)
        group += [nodes.colspec(colwidth=width) for width in (28, 14, 42, 16)]
        titles = ("Rule", "Role", "Level and source", "Page")
        head = _row(nodes.paragraph("", translate(title)) for title in titles)
        group += nodes.thead("", head)
        known = (rule for rule in domain.book.values() if rule.rule_id in domain.rules)
        group += nodes.tbody("", *(_row(self._cells(rule, domain)) for rule in known))
        return nodes.table("", group, classes=["rules"])

    def _cells(self, rule: Rule, domain: RuleDomain) -> Iterator[nodes.Element]:
        translate = words(self.env)
        home = domain.rules[rule.rule_id]
        rule_id = nodes.literal("", rule.rule_id)
        yield nodes.paragraph("", "", self._link(RuleDomain.name, "rule", rule.rule_id, rule_id))
        yield nodes.paragraph("", translate(rule.role))
        lines = [level_line(rule, translate), *source_lines(rule, translate)]
        yield nodes.line_block("", *(nodes.line("", line) for line in lines))
        title = nodes.inline("", self.env.titles[home].astext())
        yield nodes.paragraph("", "", self._link("std", "doc", f"/{home}", title))

    def _link(self, domain: str, kind: str, target: str, text: nodes.Element) -> pending_xref:
        place = {"refdomain": domain, "reftype": kind, "reftarget": target, "refexplicit": True}
        return pending_xref("", text, refdoc=self.env.docname, refwarn=True, **place)


def _row(cells: Iterator[nodes.Element]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{states}` and `{rules}`."""
    app.add_directive("states", StatesDirective)
    app.add_directive("rules", RulesDirective)
    app.add_post_transform(RuleTable)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
