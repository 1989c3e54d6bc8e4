"""The rules that hold in a dialect, each at its level there, in the words of its own box.

    {holds} pagi 0.3        the rules for the role of its option `party`, in working order
    {levels}                the rules whose level is not the same in all dialects

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

from lifespec.validate import DIALECTS
from lifespec_docs.i18n import lint_rules
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules import rulebook
from lifespec_docs.rules.citations import OURS, address, names
from lifespec_docs.rules.dialect_tables import NONE, OfDialects, groups, said, table
from lifespec_docs.rules.domain import RuleDomain, rule_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
    """One rule as it holds in a dialect: the text, and a line."""


def party(argument: str) -> str:
    """Read the option."""
    return directives.choice(argument, ("server", "application"))


class Holds(OfDialects):
    """The rules of a dialect for one party."""

    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"party": party}

    def run(self) -> list[nodes.Node]:
        """Return a place for them."""
        if "party" not in self.options:
            raise self.error("Whose rules? Its option `party` is server or application.")
        place = drawn_node(dialects=self.dialects(), party=self.options["party"])
        self.set_source_info(place)
        return [place]


class Levels(SphinxDirective):
    """The rules on which the texts differ."""

    def run(self) -> list[nodes.Node]:
        """Return a place for the table."""
        return [drawn_node(dialects=())]


class Drawn(SphinxPostTransform):
    """Puts rules and table in their places, before links are resolved."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Replace each place."""
        self.domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        self.translate = words(self.env)
        self.known = [rule for rule in self.domain.book.values() if rule.slug in self.domain.rules]
        self.boxes = cache(self._boxes)
        for place in list(self.document.findall(drawn_node)):
            place.replace_self(list(self._drawn(place)))

    def _drawn(self, place: drawn_node) -> Iterator[nodes.Element]:
        if not place["dialects"]:
            yield self._levels()
            return
        dialect = place["dialects"][0]
        rules = [rule for rule in self.known if rule.party == place["party"]]
        for stage, title in rulebook.STAGES.items():
            here = [rule for rule in rules if rule.stage == stage]
            if title and any(dialect in rule.dialects for rule in here):
                head = nodes.rubric("", self.translate(title), classes=["stage"])
                head["heading-level"] = 3
                yield head
            yield from self._held(place, here)

    def _held(self, place: drawn_node, rules: Iterable[Rule]) -> Iterator[held_node]:
        dialect, *others = place["dialects"]
        for rule in rules:
            for other in others:
                if (rule.level(other), rule.box(other)) != (rule.level(dialect), rule.box(dialect)):
                    sentence = "%s and %s differ in the rule %r: they cannot be drawn as one."
                    logger.warning(sentence, dialect, other, rule.slug, location=place)
            if dialect in rule.dialects:
                text = self._text(rule, dialect)
                classes = ["held", rule.level(dialect).replace(" ", "-") or "ours"]
                line = self._line(rule, dialect)
                yield held_node("", *text, line, classes=[*classes, "no-search"])

    def _line(self, rule: Rule, dialect: str) -> nodes.paragraph:
        """Name the rule and its sections, with links to the box, the sections and the example."""
        parts = {
            "held-source": self._sources(rule, dialect),
            "held-example": [self._link(rule, "example", nodes.Text(self.translate("Example")))],
        }
        inlines = (nodes.inline("", "", *part, classes=[name]) for name, part in parts.items())
        spaced = (node for inline in inlines for node in (nodes.Text(" "), inline))
        return nodes.paragraph("", "", *self._slug(rule), *spaced, classes=["held-foot"])

    def _slug(self, rule: Rule) -> list[nodes.Node]:
        return [self._link(rule, "rule", nodes.literal("", rule.slug))]

    def _link(self, rule: Rule, kind: str, shown: nodes.Node) -> pending_xref:
        place = {"refdomain": RuleDomain.name, "reftype": kind, "reftarget": rule.slug}
        return pending_xref("", shown, refdoc=self.env.docname, refexplicit=True, **place)

    def _sources(self, rule: Rule, dialect: str) -> list[nodes.Node]:
        """Return the sections that say it; one of another specification with its name."""
        found = [each for each in rule.sources if dialect in each.dialects]
        sections = dict.fromkeys((each.text, each.section) for each in found)
        if not sections:
            return [nodes.Text(self.translate(OURS))]
        parts = (self._section(dialect, *each) for each in sections)
        return [node for part in parts for node in (nodes.Text(self.translate("; ")), *part)][1:]

    def _section(self, dialect: str, text: str, section: str) -> list[nodes.Node]:
        url = address(dialect, text, section)
        shown = nodes.Text(f"“{section}”")
        node = nodes.reference("", "", shown, refuri=url) if url else shown
        if not text:
            return [node]
        whose = names([rulebook.MAIN], self.translate)
        if text == "core":
            family = dialect.partition(" ")[0].upper()
            whose = self.translate("the main specification of %s") % family
        before, _, after = (self.translate("%s, %s") % (whose, "\0")).partition("\0")
        return [nodes.Text(before), node, *([nodes.Text(after)] if after else [])]

    def _text(self, rule: Rule, dialect: str) -> list[nodes.Node]:
        """Return a copy of what the box of a specification says, at the level that it has there."""
        group = rule.box(dialect)
        box = self.boxes(self.domain.rules[rule.slug])[rule.slug, group].deepcopy()
        for node in box.findall(nodes.Element):
            node["ids"] = []
            if "refdoc" in node:
                node["refdoc"] = self.env.docname
        for text in list(box.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.literal):
                text.parent.replace(text, nodes.Text(self._levelled(text, rule, dialect)))
        return list(box.children)

    def _levelled(self, text: str, rule: Rule, dialect: str) -> str:
        if rule.box(dialect):
            return text
        chinese = (self.config.language or "").startswith("zh")
        return lint_rules.levelled(text, rule.levels[0], rule.level(dialect), chinese=chinese)

    def _boxes(self, docname: str) -> dict[tuple[str, tuple[str, ...]], rule_node]:
        found = self.env.get_doctree(docname).findall(rule_node)
        return {(box["slug"], box["group"]): box for box in found}

    def _levels(self) -> nodes.table:
        """Return the table of the rules on which not all say the same."""
        cells = {
            rule.slug: {dialect: self._cell(rule, dialect) for dialect in DIALECTS}
            for rule in self.known
        }
        columns = groups({each: [row[each] for row in cells.values()] for each in DIALECTS})
        differing = (rule for rule in self.known if len(set(cells[rule.slug].values())) > 1)
        rows = (
            [self._slug(rule), *(said(cells[rule.slug][column[0]]) for column in columns)]
            for rule in differing
        )
        titles = [self.translate("Rule"), *(names(each, self.translate) for each in columns)]
        return table(titles, rows, "levels")

    def _cell(self, rule: Rule, dialect: str) -> str:
        level = rule.level(dialect)
        if not level:
            return self.translate("not specified") if dialect in rule.silent else NONE
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
