"""Rules as objects of the documentation: the boxes of `{rule}`, the role `{rule}`, their inventory.

A rule that rules.toml does not have, one that stands on another page than that file says or on
none, and one that no example shows are faults, each with file and line.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, cast

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.domains import Domain, ObjType
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxDirective
from sphinx.util.nodes import make_refnode

from lifespec.conformance import cases
from lifespec.conformance.rules import Rule, heading, rules
from lifespec_docs import citations
from lifespec_docs.facts import ROOT, record
from lifespec_docs.tables import prose
from lifespec_docs.words import mark as _
from lifespec_docs.words import translations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from collections.abc import Set as AbstractSet

    from docutils.nodes import Element
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.environment import BuildEnvironment

    Translate = Callable[[str], str]

__all__ = ["RuleDirective", "RuleDomain", "refer", "setup"]

logger = logging.getLogger(__name__)
DATA = (
    "src/lifespec/conformance/data/rules.toml",
    "src/lifespec/conformance/data/cases.toml",
    "docs/matrix/servers.json",
)


def refer(
    docname: str, target: str, text: nodes.Node, domain: str = "lifespec", kind: str = "rule"
) -> pending_xref:
    """Return a link to a rule, or to a label if it is for the standard domain."""
    place = {"refdomain": domain, "reftype": kind, "reftarget": target, "refdoc": docname}
    return pending_xref("", text, refexplicit=True, refwarn=True, **place)


class RuleDirective(SphinxDirective):
    """All boxes of a rule; its argument is the rule ID."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the boxes."""
        rule_id = self.arguments[0]
        if rule_id not in rules():
            raise self.error(f"rules.toml has no rule {rule_id!r}.")
        rule = rules()[rule_id]
        if rule.page != self.env.docname or rule_id in self.state.document.ids:
            raise self.error(
                f"The rule {rule_id!r} belongs on the page {rule.page!r}, once: rules.toml says so."
            )
        # a label, as reStructuredText of other projects does not know our domain
        labels = self.env.domains.standard_domain.labels
        labels[f"rule-{rule_id}"] = self.env.docname, rule_id, rule_id
        for name in DATA:
            self.env.note_dependency(ROOT / name)
        self.translate = translations(self.env).gettext
        return [self._box(rule, group) for group in rule.boxes]

    def _box(self, rule: Rule, group: tuple[str, ...]) -> nodes.container:
        """Return the box with what a rule says for some specifications, () for the main ones."""
        first = group == next(iter(rule.boxes))
        level = rule.level(group[0]) if group else rule.levels[0]
        anchor = rule.rule_id if first else _anchor(rule, group)
        box = nodes.container("", self._head(rule, group, anchor), rule_id=rule.rule_id)
        box["classes"] = ["rule", level.replace(" ", "-") or "ours", *([] if first else ["more"])]
        box["ids"] = [anchor]
        self.state.document.ids[anchor] = box
        box += self._paragraph(prose(rule.sentence(group, self.translate)))
        if not group:
            for line in citations.source_lines(rule, self.translate):
                box += self._paragraph(line, "rule-source")
        elif not level:
            box += self._paragraph(citations.unspecified(rule, self.translate), "rule-source")
        if first and (links := [*self._links(rule.rule_id)]):
            box += nodes.paragraph("", "", *_spaced(links), classes=["rule-links"])
        self.set_source_info(box)
        return box

    def _head(self, rule: Rule, group: tuple[str, ...], anchor: str) -> nodes.paragraph:
        """Return ID, role, level, and a link to the example."""
        name = nodes.literal("", rule.rule_id)
        role = nodes.inline("", self.translate(rule.role), classes=["rule-role"])
        stated = heading(rule, group, self.translate)
        level = nodes.inline("", stated, classes=["rule-level"])
        example = nodes.reference(
            "",
            self.translate(_("Example")),
            refid=f"example-{rule.rule_id}",
            classes=["rule-example"],
        )
        levels = rule.level(group[0]) if group else rule.levels
        duty = _spaced([role, level, example] if levels else [level, example])
        parts = [
            nodes.reference("", "", name, refid=anchor, classes=["rule-id"]),
            nodes.inline("", "", *duty, classes=["rule-duty"]),
        ]
        return nodes.paragraph("", "", *_spaced(parts), classes=["rule-head"])

    def _paragraph(self, markdown: str, *classes: str) -> nodes.paragraph:
        inlines, messages = self.parse_inline(markdown)
        return nodes.paragraph("", "", *inlines, *messages, classes=[*classes])

    def _links(self, rule_id: str) -> Iterator[nodes.Node]:
        """Yield links to the cases of a rule and to what servers do, if there are any."""
        servers = record("servers")["subjects"]
        kinds = {
            "cases": (_("Cases"), {each.rule for case in cases.load() for each in case.expect}),
            "servers": (
                _("Results of servers"),
                {each for row in servers for each in row["rules"]},
            ),
        }
        for kind, (title, having) in kinds.items():
            if rule_id in having:
                text = nodes.inline("", self.translate(title))
                yield refer(self.env.docname, f"{kind}-{rule_id}", text, "std", "ref")


def _anchor(rule: Rule, group: tuple[str, ...]) -> str:
    """Name a box other than the first of its rule."""
    names = ["behaviour"] if group == rule.unspecified else group
    return "-".join([rule.rule_id, *names]).replace(" ", "-")


def _spaced(parts: Collection[nodes.Node]) -> list[nodes.Node]:
    return [node for part in parts for node in (nodes.Text(" "), part)][1:]


class RuleRole(ReferenceRole):
    """A link to a rule, with its ID as text."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link; a rule that no page has is a warning."""
        link = refer(self.env.docname, self.target, nodes.literal(self.rawtext, self.title))
        self.set_source_info(link)
        return [link], []


class RuleDomain(Domain):
    """Where the boxes and the examples of the rules are: docname by anchor."""

    name = "lifespec"
    label = "lifespan rules"
    object_types: ClassVar = {"rule": ObjType("rule", "rule")}
    initial_data: ClassVar = {"places": {}}
    data_version = 5

    @property
    def places(self) -> dict[str, str]:
        """The page of each anchor."""
        return cast("dict[str, str]", self.data["places"])

    def process_doc(self, _env: BuildEnvironment, docname: str, document: nodes.document) -> None:
        """Note the anchors of a page that was read, after its examples have theirs."""
        note_examples(document)
        for node in document.findall(nodes.Element):
            for anchor in cast("list[str]", node.get("ids", ())):
                if "rule_id" in node or anchor.startswith("example-"):
                    self.places.setdefault(anchor, docname)

    def clear_doc(self, docname: str) -> None:
        """Forget the anchors of a page."""
        kept = {anchor: home for anchor, home in self.places.items() if home != docname}
        self.data["places"] = kept

    def merge_domaindata(self, docnames: AbstractSet[str], otherdata: dict[str, Any]) -> None:
        """Take over what another process has read."""
        self.places.update(
            (anchor, home) for anchor, home in otherdata["places"].items() if home in docnames
        )

    def resolve_xref(
        self,
        env: BuildEnvironment,  # noqa: ARG002
        fromdocname: str,
        builder: Builder,
        typ: str,  # noqa: ARG002
        target: str,
        node: pending_xref,  # noqa: ARG002
        contnode: Element,
    ) -> nodes.reference | None:
        """Return the link; None if no page has this anchor."""
        if target not in self.places:
            return None
        return make_refnode(builder, fromdocname, self.places[target], target, contnode)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Return the link of a reference that names no role."""
        link = self.resolve_xref(env, fromdocname, builder, "rule", target, node, contnode)
        return [("lifespec:rule", link)] if link else []

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield each rule for the inventory."""
        for rule_id in rules():
            if rule_id in self.places:
                yield rule_id, rule_id, "rule", self.places[rule_id], rule_id, 1

    def check_consistency(self) -> None:
        """Warn of each rule that no page draws."""
        for rule in rules().values():
            if rule.rule_id not in self.places:
                text = "No page has the rule %r: put its block {rule} on the page %r."
                logger.warning(text, rule.rule_id, rule.page, location=f"rules.toml:{rule.line}")


def note_examples(document: nodes.document) -> None:
    """Give the example of each rule an anchor; warn of a rule without one.

    An example shows the rules to which the paragraphs directly above it link.
    """
    found: dict[str, nodes.Element] = {}
    for block in filter(_runs, document.findall(nodes.literal_block)):
        above = reversed(block.parent.children[: block.parent.index(block)])
        prose_above = (node for node in above if not _is_check(node))
        for paragraph in takewhile(lambda node: isinstance(node, nodes.paragraph), prose_above):
            for link in paragraph.findall(pending_xref):
                if link["reftype"] == "rule":
                    found.setdefault(link["reftarget"], block)
    for box in document.findall(nodes.container):
        rule_id = box.get("rule_id")
        if rule_id in found and rule_id in box["ids"]:
            found[rule_id]["ids"].append(f"example-{rule_id}")
        elif rule_id in box["ids"]:
            text = "No example shows the rule %r: link to it in the paragraph above one."
            logger.warning(text, rule_id, location=box)


def _runs(block: nodes.Element) -> bool:
    classes = {*block["classes"]}
    runs = block.get("language") in {"python", "pycon"} or "real" in classes
    return runs and not classes & {"not-run", "shown", "check"}


def _is_check(node: nodes.Node) -> bool:
    """Whether this node is a check, or the beginning or end of one."""
    return isinstance(node, nodes.raw) or "check" in cast("nodes.Element", node).get("classes", ())


def setup(app: Sphinx) -> None:
    """Register domain, directive and role."""
    app.add_domain(RuleDomain)
    app.add_directive("rule", RuleDirective)
    app.add_role("rule", RuleRole())
