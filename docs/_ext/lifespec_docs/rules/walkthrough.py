"""What a server does, from start to exit, with the level of each step in a specification.

{walkthrough} asgi 2.0      the steps of steps.toml that the specification has, as a list
"""

from typing import cast

from docutils import nodes
from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.domain import RuleDomain, inlines, refer
from lifespec_docs.rules.spec_tables import OfSpecs
from lifespec_docs.rules.steps import Step, steps

__all__ = ["Walkthrough", "setup"]


class Walkthrough(OfSpecs):
    """The steps of a server; what follows each answer is a list below the step that waits."""

    once = False  # a tutorial and a checklist may show the same list

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        self.translate = words(self.env)
        (spec, *_) = self.specs()
        found = nodes.enumerated_list("", classes=["walkthrough"], enumtype="arabic", suffix=".")
        waiting, answers = nodes.list_item(), nodes.bullet_list()
        for step in steps():
            text = step.says(spec)
            if not text:
                continue
            said = nodes.paragraph("", "", *inlines(self.translate(text)), *self._rules(step, spec))
            item = nodes.list_item("", said)
            if not step.answer:
                found += item
                waiting, answers = item, nodes.bullet_list()
                continue
            if not answers.children:
                waiting += answers
            answers += item
        return [found]

    def _rules(self, step: Step, spec: str) -> list[nodes.Node]:
        """Name the rules behind a step by their level; those without one are not specified."""
        book = cast("RuleDomain", self.env.domains[RuleDomain.name]).book
        levels: dict[str, list[nodes.Node]] = {}
        for rule in (book[rule_id] for rule_id in step.rules):
            if spec in rule.specs:
                level = rule.level(spec) or _("not specified")
                link = refer(self.env.docname, "rule", rule.rule_id, refexplicit=True)
                levels.setdefault(level, []).extend((nodes.Text(self.translate(", ")), link))
        foot = nodes.inline("", classes=["walkthrough-rules", "no-search"])
        for level, links in levels.items():
            between = self.translate("; ") if len(foot) else ""
            foot += [nodes.Text(f"{between}{self.translate(level)} "), *links[1:]]
        return [nodes.Text(" "), foot] if levels else []


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("walkthrough", Walkthrough)
