"""Rules as objects of the documentation: a directive that draws their boxes, and a role.

Each of these is a warning with file and line: a rule that rules.toml does not have, one drawn
twice or on another page than the file says, one without a page, one that no example shows.
"""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import cast

from docutils import nodes
from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from lifespec.conformance import rules
from lifespec.conformance.rules import Rule, heading
from lifespec.conformance.words import mark as _
from lifespec_docs.i18n.messages import sentences, words
from lifespec_docs.rules import citations, shown

__all__ = [
    "RuleDirective",
    "RuleDomain",
    "RuleRole",
    "check_examples",
    "inlines",
    "refer",
    "rule_node",
    "setup",
    "text_of",
]

logger = logging.getLogger(__name__)
LINKS = {
    "cases": _("Cases"),
    "servers": _("Results of servers"),
}  # of a box, to what is told elsewhere


class rule_node(nodes.General, nodes.Element):
    """A box of a rule; its only child is the sentence.

    `group` are the specifications of the box, () if it is the main one; `level`, `head`, `sources`
    and `links` are drawn from rules.toml.
    """


class RuleDirective(SphinxDirective):
    """All boxes of a rule, drawn from rules.toml; its argument is the rule ID."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the boxes; none if the file has no such rule."""
        rule_id = self.arguments[0]
        domain = cast("RuleDomain", self.env.domains[RuleDomain.name])
        rule = domain.book.get(rule_id)
        if rule is None:
            logger.warning("rules.toml has no rule %r.", rule_id, location=self.get_location())
            return []
        if rule.page != self.env.docname:
            text = "The rule %r belongs on the page %r: rules.toml says so."
            logger.warning(text, rule_id, rule.page, location=self.get_location())
        domain.note(rule_id, self.get_location())
        self.translate = words(self.env)
        # a label: reStructuredText elsewhere does not know our domain
        labels = self.env.domains.standard_domain.labels
        labels[f"rule-{rule_id}"] = (self.env.docname, rule_id, rule_id)
        return [self._box(rule, group) for group in rule.boxes]

    def _box(self, rule: Rule, group: tuple[str, ...]) -> rule_node:
        first = next(iter(rule.boxes))
        level = rule.level(group[0]) if group else rule.levels[0]
        sentence = nodes.paragraph("", "", *inlines(rule.sentence(group, sentences(self.env))))
        box = rule_node("", sentence, rule_id=rule.rule_id, group=group, level=level)
        box["ids"] = [_anchor(rule, group)]
        self.state.document.ids.setdefault(box["ids"][0], box)
        box["classes"] = ["rule", level.replace(" ", "-") or "ours", *["more"] * (group != first)]
        box["role"] = rule.role
        role = rule.role if level else ""
        head = heading(rule, group, self.translate)
        box["head"] = (role and self.translate(role), head)
        box["example"] = self.translate("Example")
        box["sources"] = tuple(_sources(rule, group, self.translate))
        links = LINKS if group == first else {}
        box["links"] = {kind: self.translate(text) for kind, text in links.items()}
        self.set_source_info(box)
        return box


def inlines(text: str) -> Iterator[nodes.Node]:
    """Yield a sentence of the data, with what it has in backquotes as literals."""
    for place, part in enumerate(text.split("`")):
        yield nodes.literal("", part) if place % 2 else nodes.Text(part)


def refer(
    docname: str, kind: str, name: str, shown: nodes.Node | None = None, **options: bool
) -> pending_xref:
    """Return a link to a rule, its example, a case or a subject."""
    place = {"refdomain": RuleDomain.name, "reftype": kind, "reftarget": name}
    return pending_xref("", shown or nodes.literal("", name), refdoc=docname, **place, **options)


def _anchor(rule: Rule, group: tuple[str, ...]) -> str:
    """Name the box: the first one of a rule has the name of the rule."""
    if group == next(iter(rule.boxes)):
        return rule.rule_id
    names_ = ["behaviour"] if group == rule.unspecified else group
    return "-".join([rule.rule_id, *names_]).replace(" ", "-")


def _sources(rule: Rule, group: tuple[str, ...], translate: Callable[[str], str]) -> Iterator[str]:
    """Name the sections in the main box, and in that of a behaviour who does not say it."""
    if not group:
        yield from citations.source_lines(rule, translate)
    elif group == rule.unspecified:
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
    initial_data = {"rules": {}, "places": {}}  # noqa: RUF012 - the same
    data_version = 4

    @property
    def book(self) -> Mapping[str, Rule]:
        """The rules of rules.toml by ID."""
        path = Path(self.env.srcdir, self.env.config.rules_file)
        if not hasattr(self, "_book"):
            self._book = rules.read(path.read_text(encoding="utf-8"))
        return self._book

    @property
    def rules(self) -> dict[str, str]:
        """Rule ID to docname."""
        return self.data["rules"]  # type: ignore[no-any-return]

    @property
    def places(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Docname and anchor of what is told elsewhere, by kind and name.

        `case` is a case, `subject` is a server, `cases` and `servers` are those of a rule.
        """
        return self.data["places"]  # type: ignore[no-any-return]

    def note_place(self, kind: str, name: str, anchor: str) -> None:
        """Record that the page being read has this; the first place counts."""
        self.places.setdefault((kind, name), (self.env.docname, anchor))

    def note(self, rule_id: str, location: str) -> None:
        """Record that the page being read has the boxes of a rule."""
        if rule_id in self.rules:
            text, page = "The rule %r stands on page %r already.", self.rules[rule_id]
            logger.warning(text, rule_id, page, location=location)
        self.rules[rule_id] = self.env.docname

    def clear_doc(self, docname: str) -> None:
        """Forget the rules of a page."""
        for rule_id in [rule_id for rule_id, home in self.rules.items() if home == docname]:
            del self.rules[rule_id]
        for place in [place for place, (home, _where) in self.places.items() if home == docname]:
            del self.places[place]

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


def check_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each rule of rules.toml that no page draws."""
    domain = cast("RuleDomain", env.domains[RuleDomain.name])
    path = Path(app.srcdir, app.config.rules_file).resolve()
    for rule in domain.book.values():
        if rule.rule_id not in domain.rules:
            text = "No page has the rule %r: put its block {rule} on the page %r."
            logger.warning(text, rule.rule_id, rule.page, location=f"{path}:{rule.line}")


def text_of(node: nodes.Node) -> str:
    """Return plain text; a literal in backquotes."""
    if isinstance(node, nodes.Text):
        return " ".join(f"<{node}>".split())[1:-1]
    text = "".join(text_of(child) for child in node.children)
    return f"`{text}`" if isinstance(node, nodes.literal) else text


def visit_rule(writer: HTML5Translator, node: rule_node) -> None:
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


def setup(app: Sphinx) -> None:
    """Register domain, directive, role, node and checks."""
    app.add_config_value("rules_file", "rules.toml", rebuild="env", types=[str])
    app.add_domain(RuleDomain)
    app.add_directive("rule", RuleDirective)
    app.add_role("rule", RuleRole(innernodeclass=nodes.literal, warn_dangling=True))
    app.add_node(rule_node, html=(visit_rule, depart_rule))
    app.connect("doctree-read", check_examples)
    app.connect("env-check-consistency", check_pages)
