"""Rules as objects of the documentation: a directive, a role, and the promises they make.

The body of a rule is page text, and so is translated. What stands around it (party, level, source)
is drawn from rules.toml. Each of these is a warning with file and line: a rule that rules.toml does
not have, one described twice, one without a page, one that no example follows.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

from docutils import nodes
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from lifespec_docs.examples.directive import is_example
from lifespec_docs.i18n import lint_chinese, lint_rules
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules import citations, rulebook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from docutils.nodes import Element
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

    from lifespec_docs.rules.rulebook import Rule

__all__ = [
    "RuleDirective",
    "RuleDomain",
    "RuleRole",
    "check_duties",
    "check_examples",
    "example_of",
    "rule_node",
    "setup",
]

logger = logging.getLogger(__name__)


class rule_node(nodes.General, nodes.Element):
    """A rule: `slug`, `party`, `level`, `head`, `sources`, `texts`, its children the body."""


class RuleDirective(SphinxDirective):
    """One rule: its argument is the slug, its content the text."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the rule with its body parsed; nothing where the slug is unknown."""
        slug = self.arguments[0]
        domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        rule = domain.book.get(slug)
        if rule is None:
            logger.warning("rules.toml has no rule %r.", slug, location=self.get_location())
            return []
        domain.note(slug, self.get_location())
        body = self.parse_content_to_nodes()
        node = rule_node("", *body, ids=[slug], slug=slug, classes=_classes(rule))
        node["party"], node["level"] = rule.party, rule.levels[0]
        self.state.document.ids.setdefault(slug, node)
        translate = words(self.env)
        node["head"] = (translate(rule.party), citations.level_line(rule, translate))
        node["sources"] = tuple(citations.source_lines(rule, translate))
        node["texts"] = tuple(citations.by_text(rule, translate))
        self.set_source_info(node)
        return [node]


def _classes(rule: Rule) -> list[str]:
    level = rule.levels[0].replace(" ", "-")
    return ["rule", level, *(["ours"] if rule.silent == rule.dialects else [])]


class RuleRole(XRefRole):
    """A link to a rule, with its slug as text."""

    def process_link(
        self,
        env: BuildEnvironment,
        refnode: Element,
        has_explicit_title: bool,  # noqa: FBT001 - Sphinx's signature
        title: str,
        target: str,
    ) -> tuple[str, str]:
        """Send the link to our domain, though its role bears no prefix."""
        refnode["refdomain"] = RuleDomain.name
        return super().process_link(env, refnode, has_explicit_title, title, target)


class RuleDomain(Domain):
    """The rules, and the pages that hold them."""

    name = "lifespec"
    label = "lifespan rules"
    object_types = {"rule": ObjType("rule", "rule")}  # noqa: RUF012 - so the base class has it
    initial_data = {"rules": {}}  # noqa: RUF012 - the same
    data_version = 1

    @property
    def book(self) -> dict[str, Rule]:
        """The rules of rules.toml by slug."""
        path = Path(self.env.srcdir, self.env.config.rules_file)
        if not hasattr(self, "_book"):
            self._book = rulebook.read(path)
        return self._book

    @property
    def rules(self) -> dict[str, str]:
        """Slug to docname."""
        return self.data["rules"]  # type: ignore[no-any-return]

    def note(self, slug: str, location: str) -> None:
        """Record that the page being read holds this rule."""
        if slug in self.rules:
            logger.warning(
                "The rule %r stands on page %r already.", slug, self.rules[slug], location=location
            )
        self.rules[slug] = self.env.docname

    def clear_doc(self, docname: str) -> None:
        """Forget the rules of a page."""
        for slug in [slug for slug, home in self.rules.items() if home == docname]:
            del self.rules[slug]

    def merge_domaindata(
        self, docnames: AbstractSet[str], otherdata: dict[str, dict[str, str]]
    ) -> None:
        """Take over the rules of pages that another process read."""
        self.rules.update({s: home for s, home in otherdata["rules"].items() if home in docnames})

    def resolve_xref(
        self,
        env: BuildEnvironment,  # noqa: ARG002
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: pending_xref,  # noqa: ARG002
        contnode: Element,
    ) -> nodes.reference | None:
        """Return a link to the rule, or to its example; None where no page has it."""
        if target not in self.rules:
            return None
        place = f"example-{target}" if typ == "example" else target
        return make_refnode(builder, fromdocname, self.rules[target], place, contnode, target)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Return the link for a reference that names no role."""
        link = self.resolve_xref(env, fromdocname, builder, "rule", target, node, contnode)
        return [("lifespec:rule", link)] if link else []

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield each rule for the search."""
        for slug, docname in self.rules.items():
            yield slug, slug, "rule", docname, slug, 1

    def get_type_name(self, objtype: ObjType, _primary: bool = False) -> str:  # noqa: FBT001, FBT002
        """Name our one type in the language of the page."""
        return words(self.env)(objtype.lname)


def example_of(rule: nodes.Element) -> nodes.Element | None:
    """Return the example that follows a rule before the next rule or its section's end."""
    section = rule
    while not isinstance(section, nodes.section | nodes.document):
        section = section.parent
    after = list(section.findall(lambda node: isinstance(node, rule_node) or is_example(node)))
    following = after[after.index(rule) + 1 :]
    if not following or isinstance(following[0], rule_node):
        return None
    return cast("nodes.Element", following[0])


def check_examples(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each rule that no example follows; name the example of each other after it."""
    for rule in doctree.findall(rule_node):
        if (example := example_of(rule)) is None:
            logger.warning("No example follows the rule %r.", rule["slug"], location=rule)
        else:
            example["ids"].append(f"example-{rule['slug']}")


def check_duties(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each rule whose text lays another duty than rules.toml has, in either language.

    What is not translated is told elsewhere.
    """
    for rule in doctree.findall(rule_node):
        texts = (node for node in rule.findall(nodes.Text))
        prose = " ".join(node for node in texts if not isinstance(node.parent, nodes.literal))
        chinese = lint_chinese.is_chinese(prose)
        for sentence in lint_rules.owed(prose, rule["level"], rule["party"], chinese=chinese):
            logger.warning("The rule %r %s", rule["slug"], sentence, location=rule)


def check_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each rule of rules.toml that no page describes."""
    domain = cast("RuleDomain", env.domains[RuleDomain.name])
    path = Path(app.srcdir, app.config.rules_file).resolve()
    for rule in domain.book.values():
        if rule.slug not in domain.rules:
            logger.warning("No page has the rule %r.", rule.slug, location=f"{path}:{rule.line}")


def visit_rule(writer: HTML5Translator, node: rule_node) -> None:
    """Open the box and write its heading."""
    slug = escape(node["slug"])
    party, level = (escape(word) for word in node["head"])
    writer.body.append(writer.starttag(node, "div"))
    writer.body.append(
        f'<p class="rule-head"><a class="rule-slug" href="#{slug}"><code>{slug}</code></a> '
        f'<span class="rule-duty"><span class="rule-party">{party}</span> '
        f'<span class="rule-level">{level}</span></span></p>'
    )


def depart_rule(writer: HTML5Translator, node: rule_node) -> None:
    """Write the sources and close the box."""
    for line in node["sources"]:
        writer.body.append(f'<p class="rule-source">{escape(line)}</p>')
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register domain, directive, role, node and checks."""
    app.add_config_value("rules_file", "rules.toml", rebuild="env", types=[str])
    app.add_domain(RuleDomain)
    app.add_directive("rule", RuleDirective)
    app.add_role("rule", RuleRole(innernodeclass=nodes.literal, warn_dangling=True))
    app.add_node(rule_node, html=(visit_rule, depart_rule))
    app.connect("doctree-read", check_examples)
    app.connect("doctree-read", check_duties)
    app.connect("env-check-consistency", check_pages)
    return {"version": "1", "env_version": 2, "parallel_read_safe": True}
