"""The rules that hold in a specification, each at its level there, in the words of its own box.

{holds} pagi 0.3        the rules for the role of its option `role`, in working order
{levels}                the rules whose level is not the same in all specifications
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from lifespec.conformance.rules import MAIN, STAGES, Rule, address, names
from lifespec.validate import SPECS
from lifespec_docs.i18n.messages import sentences, words
from lifespec_docs.rules.domain import RuleDomain, inlines, refer
from lifespec_docs.rules.spec_tables import NONE, OfSpecs, groups, said, table

__all__ = ["held_node", "setup"]

logger = logging.getLogger(__name__)


class held_node(nodes.General, nodes.Element):
    """One rule as it holds in a specification: the sentence, and a line."""


def role(argument: str) -> str:
    """Read the option."""
    return directives.choice(argument, ("server", "application"))


class Holds(OfSpecs):
    """The rules of a specification for one role."""

    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"role": role}

    def run(self) -> list[nodes.Node]:
        """Return them, by the stages of a lifespan."""
        if "role" not in self.options:
            raise self.error("Whose rules? Its option `role` is server or application.")
        self.translate, specs = words(self.env), self.specs()
        book = cast("RuleDomain", self.env.domains[RuleDomain.name]).book.values()
        rules = [rule for rule in book if rule.role == self.options["role"]]
        found: list[nodes.Node] = []
        for stage, title in STAGES.items():
            here = [rule for rule in rules if rule.stage == stage]
            held = list(self._held(specs, here))
            if title and held:
                head = nodes.rubric(
                    "", self.translate(title), classes=["stage"], translatable=False
                )
                found.append(head)
                head["heading-level"] = 3
            found += held
        return found

    def _held(self, specs: Sequence[str], rules: Iterable[Rule]) -> Iterator[held_node]:
        spec, *others = specs
        for rule in rules:
            for other in others:
                if (rule.level(other), rule.box(other)) != (rule.level(spec), rule.box(spec)):
                    sentence = "%s and %s differ in the rule %r: they cannot be drawn as one."
                    place = self.get_location()
                    logger.warning(sentence, spec, other, rule.rule_id, location=place)
            if rule.level(spec):
                says = rule.says(spec, sentences(self.env))
                classes = ["held", rule.level(spec).replace(" ", "-"), "no-search"]
                paragraph = nodes.paragraph("", "", *inlines(says))
                yield held_node("", paragraph, self._line(rule, spec), classes=classes)

    def _line(self, rule: Rule, spec: str) -> nodes.paragraph:
        """Name the rule and its sections, with links to the box, the sections and the example."""
        docname = self.env.docname
        example = nodes.Text(self.translate("Example"))
        parts: dict[str, list[nodes.Node]] = {
            "held-source": self._sources(rule, spec),
            "held-example": [refer(docname, "example", rule.rule_id, example, refexplicit=True)],
        }
        spans = (nodes.inline("", "", *part, classes=[name]) for name, part in parts.items())
        spaced = (node for span in spans for node in (nodes.Text(" "), span))
        rule_id = refer(docname, "rule", rule.rule_id, refexplicit=True)
        return nodes.paragraph("", "", rule_id, *spaced, classes=["held-foot"])

    def _sources(self, rule: Rule, spec: str) -> list[nodes.Node]:
        """Return the sections that say it; those of another specification after its name."""
        found: dict[str, dict[str, None]] = {}
        for source in (each for each in rule.sources if spec in each.specs):
            found.setdefault(source.text, {})[source.section] = None
        parts = (self._sections(spec, text, list(sections)) for text, sections in found.items())
        return [node for part in parts for node in (nodes.Text(self.translate("; ")), *part)][1:]

    def _sections(self, spec: str, text: str, sections: Sequence[str]) -> list[nodes.Node]:
        comma = self.translate(", ")
        links = (self._link_to(spec, text, section) for section in sections)
        shown = [part for link in links for part in (nodes.Text(comma), link)][1:]
        if not text:
            return shown
        whose = names([MAIN], self.translate)
        if text == "core":
            family = spec.partition(" ")[0].upper()
            whose = self.translate("the main specification of %s") % family
        return [nodes.Text(whose + comma), *shown]

    def _link_to(self, spec: str, text: str, section: str) -> nodes.Node:
        url, shown = address(spec, text, section), nodes.Text(f"“{section}”")
        return nodes.reference("", "", shown, refuri=url) if url else shown


class Levels(SphinxDirective):
    """The rules on whose level the specifications differ."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        translate = words(self.env)
        book = cast("RuleDomain", self.env.domains[RuleDomain.name]).book

        def cell(rule: Rule, spec: str) -> str:
            unspecified = translate("not specified") if spec in rule.unspecified else NONE
            level = rule.level(spec)
            return translate(level) if level else unspecified

        cells = {rule: {spec: cell(row, spec) for spec in SPECS} for rule, row in book.items()}
        columns = groups({each: [row[each] for row in cells.values()] for each in SPECS})
        rows: list[list[list[nodes.Node]]] = []
        for rule_id, row in cells.items():
            if len({*row.values()}) > 1:
                shown = nodes.literal("", rule_id)
                link = refer(self.env.docname, "rule", rule_id, shown, refexplicit=True)
                rows.append([[link], *(said(row[column[0]]) for column in columns)])
        titles = [translate("Rule"), *(names(each, translate) for each in columns)]
        return [table(titles, rows, "levels")]


def visit_held(writer: HTML5Translator, node: held_node) -> None:
    writer.body.append(writer.starttag(node, "div"))


def depart_held(writer: HTML5Translator, _node: held_node) -> None:
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> None:
    """Register the directives and the node."""
    app.add_directive("holds", Holds)
    app.add_directive("levels", Levels)
    app.add_node(held_node, html=(visit_held, depart_held))
