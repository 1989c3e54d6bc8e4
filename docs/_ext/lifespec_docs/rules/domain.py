"""Rules as objects of the documentation: a directive, a role, and the promises they make.

The body of a rule is page text, and so is translated. What stands around it (role, level, source)
is drawn from rules.toml. Each of these is a warning with file and line: a rule that rules.toml does
not have, one described twice, one without a page, one that no example shows.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from lifespec_docs.i18n import lint_chinese, lint_rules
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules import citations, rulebook, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
    "BehaviourDirective",
    "RuleDirective",
    "RuleDomain",
    "RuleRole",
    "check_duties",
    "check_examples",
    "rule_node",
    "setup",
    "text_of",
]

logger = logging.getLogger(__name__)
LINKS = {"cases": "Cases", "servers": "Results of servers"}  # of a box, to what is told elsewhere


class rule_node(nodes.General, nodes.Element):
    """A rule, or a wording or behaviour of it; its children are the body.

    `group` are the specifications of the box, () if it is the main one; `role`, `level`, `head`,
    `sources` and `texts` are drawn from rules.toml.
    """


class RuleDirective(SphinxDirective):
    """One rule: its argument is the rule ID, its content the text.

    With the option `in`, which names specifications, it is how these word the rule.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"in": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the rule with its body parsed; nothing where the file has no such box."""
        rule_id = self.arguments[0]
        domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        rule = domain.book.get(rule_id)
        if rule is None:
            logger.warning("rules.toml has no rule %r.", rule_id, location=self.get_location())
            return []
        group = self.group(rule)
        if group not in rule.boxes:
            text = "rules.toml has no such box of the rule %r: %s"
            there = "; ".join(", ".join(each) or "the main one" for each in rule.boxes)
            logger.warning(text, rule_id, f"there are {there}.", location=self.get_location())
            return []
        domain.note(rule_id, group, self.get_location())
        node = rule_node("", *self.parse_content_to_nodes(), rule_id=rule_id, group=group)
        node["ids"] = [_anchor(rule, group)]
        node["role"], node["level"] = rule.role, _level(rule, group)
        node["says"] = rule.says[group]
        node["classes"] = ["rule", node["level"].replace(" ", "-") or "ours"]
        node["classes"] += ["more"] * (group != rule.boxes[0])
        self.state.document.ids.setdefault(node["ids"][0], node)
        if group == rule.boxes[0]:  # a label: reStructuredText elsewhere does not know our domain
            labels = self.env.domains.standard_domain.labels
            labels[f"rule-{rule_id}"] = (self.env.docname, rule_id, rule_id)
        translate = words(self.env)
        role = rule.role if node["level"] else ""
        node["example"] = translate("Example")
        node["head"] = (role and translate(role), citations.box_line(rule, group, translate))
        node["sources"] = tuple(_sources(rule, group, translate))
        told = LINKS if group == rule.boxes[0] else {}
        node["links"] = {kind: translate(text) for kind, text in told.items()}
        node["texts"] = tuple(citations.by_text(rule, translate))
        self.set_source_info(node)
        return [node]

    def group(self, _rule: Rule) -> tuple[str, ...]:
        """Return the specifications whose box this is."""
        named = self.options.get("in", "").split(",")
        return tuple(filter(None, map(str.strip, named)))


class BehaviourDirective(RuleDirective):
    """What lifespec does if no specification, or not each, says what to do.

    It has no level, and nobody breaks it.
    """

    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {}

    def group(self, rule: Rule) -> tuple[str, ...]:
        """Return the specifications that do not say it."""
        return rule.silent or ("none",)


def _anchor(rule: Rule, group: tuple[str, ...]) -> str:
    """Name the box: the first one of a rule has the name of the rule."""
    if group == rule.boxes[0]:
        return rule.rule_id
    return "-".join([rule.rule_id, *(["behaviour"] if group == rule.silent else group)]).replace(
        " ", "-"
    )


def _level(rule: Rule, group: tuple[str, ...]) -> str:
    return rule.level(group[0]) if group else rule.levels[0]


def _sources(rule: Rule, group: tuple[str, ...], translate: Callable[[str], str]) -> Iterator[str]:
    """Name the sections in the main box, and in that of a behaviour who does not say it."""
    if not group:
        yield from citations.source_lines(rule, translate)
    elif group == rule.silent:
        yield citations.unspecified(rule, translate)


class RuleRole(XRefRole):
    """A link to a rule, with its ID as text."""

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
    initial_data = {"rules": {}, "boxes": {}, "places": {}}  # noqa: RUF012 - the same
    data_version = 3

    @property
    def book(self) -> dict[str, Rule]:
        """The rules of rules.toml by ID."""
        path = Path(self.env.srcdir, self.env.config.rules_file)
        if not hasattr(self, "_book"):
            self._book = rulebook.read(path)
        return self._book

    @property
    def rules(self) -> dict[str, str]:
        """Rule ID to docname."""
        return self.data["rules"]  # type: ignore[no-any-return]

    @property
    def boxes(self) -> dict[tuple[str, tuple[str, ...]], str]:
        """Rule ID and specifications to docname."""
        return self.data["boxes"]  # type: ignore[no-any-return]

    @property
    def places(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Docname and anchor of what is told elsewhere, by kind and name.

        `case` is a case, `subject` is a server, `cases` and `servers` are those of a rule.
        """
        return self.data["places"]  # type: ignore[no-any-return]

    def note_place(self, kind: str, name: str, anchor: str) -> None:
        """Record that the page being read has this; the first place counts."""
        self.places.setdefault((kind, name), (self.env.docname, anchor))

    def note(self, rule_id: str, group: tuple[str, ...], location: str) -> None:
        """Record that the page being read holds this box."""
        if (rule_id, group) in self.boxes:
            text, page = "The rule %r stands on page %r already.", self.boxes[rule_id, group]
            logger.warning(text, rule_id, page, location=location)
        elif self.rules.get(rule_id, self.env.docname) != self.env.docname:
            text, page = "The rule %r has a box on page %r, and belongs there.", self.rules[rule_id]
            logger.warning(text, rule_id, page, location=location)
        self.boxes[rule_id, group] = self.rules[rule_id] = self.env.docname

    def clear_doc(self, docname: str) -> None:
        """Forget the rules of a page."""
        for rule_id in [rule_id for rule_id, home in self.rules.items() if home == docname]:
            del self.rules[rule_id]
        for box in [box for box, home in self.boxes.items() if home == docname]:
            del self.boxes[box]
        for place in [place for place, (home, _) in self.places.items() if home == docname]:
            del self.places[place]

    def merge_domaindata(
        self, docnames: AbstractSet[str], otherdata: dict[str, dict[Any, str]]
    ) -> None:
        """Take over the rules of pages that another process read."""
        for mine, theirs in ((self.data[name], otherdata[name]) for name in ("rules", "boxes")):
            mine.update({key: home for key, home in theirs.items() if home in docnames})
        for key, place in otherdata["places"].items():
            if place[0] in docnames:
                self.places.setdefault(key, place)  # type: ignore[arg-type]

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
        """Return a link to the rule, its example or a place; None where no page has it."""
        if place := self.places.get((typ, target)):
            return make_refnode(builder, fromdocname, *place, contnode)
        if typ not in {"rule", "example"} or target not in self.rules:
            return None
        anchor = f"example-{target}" if typ == "example" else target
        title = None if contnode.astext() == target else target  # what is read need not pop up, too
        return make_refnode(builder, fromdocname, self.rules[target], anchor, contnode, title)

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
        for rule_id, docname in self.rules.items():
            yield rule_id, rule_id, "rule", docname, rule_id, 1

    def get_type_name(self, objtype: ObjType, _primary: bool = False) -> str:  # noqa: FBT001, FBT002
        """Name our one type in the language of the page."""
        return words(self.env)(objtype.lname)


def check_examples(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each rule that no example shows; give the example of each other an anchor."""
    found = shown.examples(doctree)
    for rule in (node for node in doctree.findall(rule_node) if node["rule_id"] in node["ids"]):
        rule_id = rule["rule_id"]
        if rule_id in found:
            found[rule_id]["ids"].append(f"example-{rule_id}")
        else:
            text = "No example shows the rule %r: link to it in the paragraph above one."
            logger.warning(text, rule_id, location=rule)


def check_duties(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each rule whose text lays another duty than rules.toml has, in either language.

    What is not translated is told elsewhere.
    """
    for rule in doctree.findall(rule_node):
        texts = (node for node in rule.findall(nodes.Text))
        prose = " ".join(node for node in texts if not isinstance(node.parent, nodes.literal))
        chinese = lint_chinese.is_chinese(prose)
        for sentence in lint_rules.owed(prose, rule["level"], rule["role"], chinese=chinese):
            logger.warning("The rule %r %s", rule["rule_id"], sentence, location=rule)


def check_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each rule of rules.toml that no page describes, and of each box that is missing."""
    domain = cast("RuleDomain", env.domains[RuleDomain.name])
    path = Path(app.srcdir, app.config.rules_file).resolve()
    for rule in domain.book.values():
        place = f"{path}:{rule.line}"
        if rule.rule_id not in domain.rules:
            logger.warning("No page has the rule %r.", rule.rule_id, location=place)
            continue
        for group in (each for each in rule.boxes if (rule.rule_id, each) not in domain.boxes):
            text, texts = "No page has the box of the rule %r for: %s.", ", ".join(group)
            logger.warning(text, rule.rule_id, texts or "all", location=place)


def text_of(node: nodes.Node) -> str:
    """Return plain text; a literal in backquotes."""
    if isinstance(node, nodes.Text):
        return " ".join(f"<{node}>".split())[1:-1]
    text = "".join(text_of(child) for child in node.children)
    return f"`{text}`" if isinstance(node, nodes.literal) else text


def visit_rule(writer: HTML5Translator, node: rule_node) -> None:
    """Open the box and write its heading."""
    rule_id, anchor = escape(node["rule_id"]), escape(node["ids"][0])
    role, level = (escape(word) for word in node["head"])
    role = role and f'<span class="rule-role">{role}</span> '
    writer.body.append(writer.starttag(node, "div"))
    writer.body.append(
        f'<p class="rule-head"><a class="rule-id" href="#{anchor}"><code>{rule_id}</code></a> '
        f'<span class="rule-duty">{role}<span class="rule-level">{level}</span> '
        f'<a class="rule-example" href="#example-{rule_id}">{escape(node["example"])}</a>'
        f"</span></p>"
    )


def depart_rule(writer: HTML5Translator, node: rule_node) -> None:
    """Write the sources and close the box."""
    for line in node["sources"]:
        writer.body.append(f'<p class="rule-source">{citations.as_html(line)}</p>')
    if links := [*_links(writer, node)]:
        writer.body.append(f'<p class="rule-links">{" ".join(links)}</p>')
    writer.body.append("</div>\n")


def _links(writer: HTML5Translator, node: rule_node) -> Iterator[str]:
    """Yield the links to the cases of a rule and to what servers do, where there are any."""
    domain = cast("RuleDomain", writer.builder.env.domains[RuleDomain.name])
    here = writer.builder.current_docname
    for kind, text in node["links"].items():
        if place := domain.places.get((kind, node["rule_id"])):
            page, anchor = place
            url = f"{writer.builder.get_relative_uri(here, page)}#{anchor}"
            yield f'<a href="{escape(url)}">{escape(text)}</a>'


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register domain, directive, role, node and checks."""
    app.add_config_value("rules_file", "rules.toml", rebuild="env", types=[str])
    app.add_domain(RuleDomain)
    app.add_directive("rule", RuleDirective)
    app.add_directive("behaviour", BehaviourDirective)
    app.add_role("rule", RuleRole(innernodeclass=nodes.literal, warn_dangling=True))
    app.add_node(rule_node, html=(visit_rule, depart_rule))
    app.connect("doctree-read", check_examples)
    app.connect("doctree-read", check_duties)
    app.connect("env-check-consistency", check_pages)
    return {"version": "1", "env_version": 6, "parallel_read_safe": True}
