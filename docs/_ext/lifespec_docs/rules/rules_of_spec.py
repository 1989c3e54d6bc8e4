"""The rules that hold in a specification, each at its level there, in the words of its own box.

    {holds} pagi 0.3        the rules for the role of its option `role`, in working order
    {levels}                the rules whose level is not the same in all specifications

The text of a rule is copied from the page that has it, when all have been read: so it is neither
typed nor translated twice. Where the level is another one, the word that lays the duty is, too.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec.validate import SPECS
from lifespec_docs.i18n import lint_rules
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules import rulebook
from lifespec_docs.rules.citations import OURS, address, names
from lifespec_docs.rules.domain import RuleDomain, rule_node
from lifespec_docs.rules.spec_tables import NONE, OfSpecs, groups, said, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

    from lifespec_docs.rules.rulebook import Rule

__all__ = ["Drawn", "drawn_node", "held_node", "setup"]

logger = logging.getLogger(__name__)


class drawn_node(nodes.General, nodes.Element):
    """Stands for what is drawn from the rules, until every page has been read."""


class held_node(nodes.General, nodes.Element):
    """One rule as it holds in a specification: the text, and a line."""


def role(argument: str) -> str:
    """Read the option."""
    return directives.choice(argument, ("server", "application"))


class Holds(OfSpecs):
    """The rules of a specification for one role."""

    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"role": role}

    def run(self) -> list[nodes.Node]:
        """Return a place for them."""
        if "role" not in self.options:
            raise self.error("Whose rules? Its option `role` is server or application.")
        place = drawn_node(specs=self.specs(), role=self.options["role"])
        self.set_source_info(place)
        return [place]


class Levels(SphinxDirective):
    """The rules on which the texts differ."""

    def run(self) -> list[nodes.Node]:
        """Return a place for the table."""
        return [drawn_node(specs=())]


class Drawn(SphinxPostTransform):
    """Puts rules and table in their places, before links are resolved."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Replace each place."""
        self.domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        self.translate = words(self.env)
        self.known = [
            rule for rule in self.domain.book.values() if rule.rule_id in self.domain.rules
        ]
        self.boxes = cache(self._boxes)
        for place in list(self.document.findall(drawn_node)):
            place.replace_self(list(self._drawn(place)))

    def _drawn(self, place: drawn_node) -> Iterator[nodes.Element]:
        if not place["specs"]:
            yield self._levels()
            return
        spec = place["specs"][0]
        rules = [rule for rule in self.known if rule.role == place["role"]]
        for stage, title in rulebook.STAGES.items():
            here = [rule for rule in rules if rule.stage == stage]
            if title and any(spec in rule.specs for rule in here):
                head = nodes.rubric("", self.translate(title), classes=["stage"])
                head["heading-level"] = 3
                yield head
            yield from self._held(place, here)

    def _held(self, place: drawn_node, rules: Iterable[Rule]) -> Iterator[held_node]:
        spec, *others = place["specs"]
        for rule in rules:
            for other in others:
                if (rule.level(other), rule.box(other)) != (rule.level(spec), rule.box(spec)):
                    sentence = "%s and %s differ in the rule %r: they cannot be drawn as one."
                    logger.warning(sentence, spec, other, rule.rule_id, location=place)
            if spec in rule.specs:
                text = self._text(rule, spec)
                classes = ["held", rule.level(spec).replace(" ", "-") or "ours"]
                line = self._line(rule, spec)
                yield held_node("", *text, line, classes=[*classes, "no-search"])

    def _line(self, rule: Rule, spec: str) -> nodes.paragraph:
        """Name the rule and its sections, with links to the box, the sections and the example."""
        parts: dict[str, list[nodes.Node]] = {
            "held-source": self._sources(rule, spec),
            "held-example": [self._link(rule, "example", nodes.Text(self.translate("Example")))],
        }
        inlines = (nodes.inline("", "", *part, classes=[name]) for name, part in parts.items())
        spaced = (node for inline in inlines for node in (nodes.Text(" "), inline))
        return nodes.paragraph("", "", *self._rule_id(rule), *spaced, classes=["held-foot"])

    def _rule_id(self, rule: Rule) -> list[nodes.Node]:
        return [self._link(rule, "rule", nodes.literal("", rule.rule_id))]

    def _link(self, rule: Rule, kind: str, shown: nodes.Node) -> pending_xref:
        place = {"refdomain": RuleDomain.name, "reftype": kind, "reftarget": rule.rule_id}
        return pending_xref("", shown, refdoc=self.env.docname, refexplicit=True, **place)

    def _sources(self, rule: Rule, spec: str) -> list[nodes.Node]:
        """Return the sections that say it; those of another specification after its name."""
        found: dict[str, dict[str, None]] = {}
        for source in (each for each in rule.sources if spec in each.specs):
            found.setdefault(source.text, {})[source.section] = None
        if not found:
            return [nodes.Text(self.translate(OURS))]
        parts = (self._sections(spec, text, list(sections)) for text, sections in found.items())
        return [node for part in parts for node in (nodes.Text(self.translate("; ")), *part)][1:]

    def _sections(self, spec: str, text: str, sections: Sequence[str]) -> list[nodes.Node]:
        comma = self.translate(", ")
        links = (self._link_to(spec, text, section) for section in sections)
        shown = [part for link in links for part in (nodes.Text(comma), link)][1:]
        if not text:
            return shown
        whose = names([rulebook.MAIN], self.translate)
        if text == "core":
            family = spec.partition(" ")[0].upper()
            whose = self.translate("the main specification of %s") % family
        return [nodes.Text(whose + comma), *shown]

    def _link_to(self, spec: str, text: str, section: str) -> nodes.Node:
        url, shown = address(spec, text, section), nodes.Text(f"“{section}”")
        return nodes.reference("", "", shown, refuri=url) if url else shown

    def _text(self, rule: Rule, spec: str) -> list[nodes.Node]:
        """Return a copy of what the box of a specification says, at the level that it has there."""
        group = rule.box(spec)
        box = self.boxes(self.domain.rules[rule.rule_id])[rule.rule_id, group].deepcopy()
        for node in box.findall(nodes.Element):
            node["ids"] = []
            if "refdoc" in node:
                node["refdoc"] = self.env.docname
        for text in list(box.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.literal):
                text.parent.replace(text, nodes.Text(self._levelled(text, rule, spec)))
        return list(box.children)

    def _levelled(self, text: str, rule: Rule, spec: str) -> str:
        if rule.box(spec):
            return text
        chinese = (self.config.language or "").startswith("zh")
        return lint_rules.levelled(text, rule.levels[0], rule.level(spec), chinese=chinese)

    def _boxes(self, docname: str) -> dict[tuple[str, tuple[str, ...]], rule_node]:
        found = self.env.get_doctree(docname).findall(rule_node)
        return {(box["rule_id"], box["group"]): box for box in found}

    def _levels(self) -> nodes.table:
        """Return the table of the rules on which not all say the same."""
        cells = {
            rule.rule_id: {spec: self._cell(rule, spec) for spec in SPECS} for rule in self.known
        }
        columns = groups({each: [row[each] for row in cells.values()] for each in SPECS})
        differing = (rule for rule in self.known if len(set(cells[rule.rule_id].values())) > 1)
        rows = (
            [self._rule_id(rule), *(said(cells[rule.rule_id][column[0]]) for column in columns)]
            for rule in differing
        )
        titles = [self.translate("Rule"), *(names(each, self.translate) for each in columns)]
        return table(titles, rows, "levels")

    def _cell(self, rule: Rule, spec: str) -> str:
        level = rule.level(spec)
        if not level:
            return self.translate("not specified") if spec in rule.silent else NONE
        return self.translate(level)


def visit_held(writer: HTML5Translator, node: held_node) -> None:
    """Open the rule; searches lead to its own page."""
    writer.body.append(writer.starttag(node, "div"))


def depart_held(writer: HTML5Translator, _node: held_node) -> None:
    """Close it."""
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives, the nodes and what fills them."""
    app.add_directive("holds", Holds)
    app.add_directive("levels", Levels)
    app.add_node(held_node, html=(visit_held, depart_held))
    app.add_post_transform(Drawn)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
