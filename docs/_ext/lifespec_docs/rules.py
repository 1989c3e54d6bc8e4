"""Rules as objects of Sphinx: the boxes of `{rule}`, the role `{rule}`, their inventory.

An unknown rule, a rule on another page than rules.toml says, and a rule on no page are warnings
with file and line.
"""

import functools
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxDirective

from lifespec.catalog import data
from lifespec.conformance import cases
from lifespec.conformance.explain import heading
from lifespec.conformance.rules import BEHAVIOUR, MAIN, Rule, Source, rules
from lifespec.validate import SPECS
from lifespec.words import names
from lifespec_docs.blocks import folded_node, summary_node
from lifespec_docs.tables import prose
from lifespec_docs.views.records import read as record
from lifespec_docs.words import ROOT, translations
from lifespec_docs.words import mark as _

Translate = Callable[[str], str]

logger = logging.getLogger(__name__)
DATA = (
    "src/lifespec/conformance/data/rules.toml",
    "src/lifespec/conformance/data/cases.toml",
    "docs/matrix/servers.json",
)
LISTS = {"cases": _("Cases"), "servers": _("Results of servers")}  # that a box leads to


def refer(docname: str, target: str, text: nodes.Node, kind: str = "rule") -> pending_xref:
    """Return a link to a rule, or to a label if that is the kind."""
    place = {"refdomain": "std", "reftype": kind, "reftarget": target, "refdoc": docname}
    return pending_xref("", text, refexplicit=True, refwarn=True, **place)


class RuleDirective(SphinxDirective):
    """The box of a rule; its argument is the rule ID."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the box."""
        rule_id = self.arguments[0]
        if rule_id not in rules():
            raise self.error(f"rules.toml has no rule {rule_id!r}.")
        rule = rules()[rule_id]
        if rule.page != self.env.docname or rule_id in self.state.document.ids:
            raise self.error(
                f"The rule {rule_id!r} belongs on the page {rule.page!r}, once: rules.toml says so."
            )
        standard = self.env.domains.standard_domain
        standard.note_object("rule", rule_id, rule_id)
        # a label, as reStructuredText of other projects has no role for our rules
        standard.labels[f"rule-{rule_id}"] = self.env.docname, rule_id, rule_id
        for name in DATA:
            self.env.note_dependency(ROOT / name)
        self.translate = translations(self.env).gettext
        return [self._box(rule, _main_first(rule))]

    def _box(self, rule: Rule, boxes: Sequence[tuple[str, ...]]) -> nodes.container:
        """Return the box of a rule: its sentence, and a note with sources and other wordings."""
        group, *others = boxes
        head = nodes.paragraph("", "", *self._head(rule, group), classes=["rule-head"])
        more = nodes.container("", head, self._more(rule, group, others), classes=["rule-foot"])
        says = self._paragraph(prose(rule.sentence(group, self.translate)))
        box = nodes.container("", says, more, rule_id=rule.rule_id)
        box["classes"] = ["rule", _level(rule, group).replace(" ", "-") or "ours"]
        box["ids"] = [rule.rule_id]
        self.state.document.ids[rule.rule_id] = box
        self.set_source_info(box)
        return box

    def _head(self, rule: Rule, group: tuple[str, ...]) -> Iterator[nodes.Node]:
        """Yield the ID, the role and the level."""
        name = nodes.literal("", rule.rule_id)
        level = self.translate(_level(rule, group) or BEHAVIOUR)
        yield nodes.reference("", "", name, refid=rule.rule_id, classes=["rule-id"])
        if _level(rule, group):
            yield nodes.Text(" ")
            yield nodes.inline("", self.translate(rule.role), classes=["rule-role"])
        yield nodes.Text(" ")
        yield nodes.inline("", level, classes=["rule-level"])

    def _more(
        self, rule: Rule, group: tuple[str, ...], others: Sequence[tuple[str, ...]]
    ) -> folded_node:
        """Return the sources, the wordings for other specifications, and links to results."""
        title = self.translate(_("Sources"))
        parts: list[nodes.Node] = [summary_node(title, title, translatable=False)]
        if rule.unspecified and group == rule.unspecified:
            parts.append(self._paragraph(_unspecified(rule, self.translate)))
        parts += map(self._paragraph, _source_lines(rule, self.translate))
        for other in others:
            specs = other or tuple(spec for spec in rule.specs if rule.level(spec))
            named = f"**{heading(rule, specs, self.translate)}** "
            parts.append(self._paragraph(named + prose(rule.sentence(other, self.translate))))
        if links := list(self._links(rule.rule_id)):
            parts.append(nodes.paragraph("", "", *_spaced(links), classes=["rule-links"]))
        return folded_node("", *parts, classes=["sources"])

    def _paragraph(self, markdown: str) -> nodes.paragraph:
        inlines, messages = self.parse_inline(markdown)
        return nodes.paragraph("", "", *inlines, *messages)

    def _links(self, rule_id: str) -> Iterator[nodes.Node]:
        """Yield links to the cases of a rule and to what servers do, if there are any."""
        for kind, title in LISTS.items():
            if rule_id in _listed()[kind]:
                text = nodes.inline("", self.translate(title))
                yield refer(self.env.docname, f"{kind}-{rule_id}", text, "ref")


@functools.cache
def _listed() -> dict[str, set[str]]:
    """Return the rules that cases expect, and those that servers were tried with."""
    servers = record("servers")["subjects"]
    return {
        "cases": {expected.rule for case in cases.load() for expected in case.expect},
        "servers": {rule_id for row in servers for rule_id in row["rules"]},
    }


def _main_first(rule: Rule) -> list[tuple[str, ...]]:
    """Return the groups of a rule: first the one that lifespan 2.0 belongs to, if any does."""
    return sorted(rule.boxes, key=lambda group: MAIN not in group)


def _level(rule: Rule, group: tuple[str, ...]) -> str:
    """Return the level for a group of specifications, () being the main ones."""
    return rule.level(group[0]) if group else rule.levels[0]


def _spaced(parts: Collection[nodes.Node]) -> list[nodes.Node]:
    return [node for part in parts for node in (nodes.Text(" "), part)][1:]


def _link(text: str, url: str) -> str:
    """Return a link, or the text alone if there is no address."""
    return f"[{text}]({url})" if url else text


def _source_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Yield a line for each level with its sections, and one for the specifications without it."""
    pair, levels = translate(_("%s: %s")), dict.fromkeys(source.level for source in rule.sources)
    for level in levels:
        line = _by_section([one for one in rule.sources if one.level == level], translate)
        if len(levels) > 1:
            yield pair % (translate(level), line)
        elif set(rule.specs) - set(rule.unspecified) == set(SPECS):
            yield translate(_("In all specifications: %s")) % line
        else:
            yield translate(_("Source: %s")) % line
    if absent := [spec for spec in SPECS if spec not in rule.specs]:
        yield translate(_("Not in %s")) % names(absent, translate)


def _unspecified(rule: Rule, translate: Translate) -> str:
    """Name the specifications that do not state a rule."""
    if set(rule.unspecified) == set(SPECS):
        return translate(_("Not specified by any specification"))
    return translate(_("Not specified by %s")) % names(rule.unspecified, translate)


def _by_section(sources: Sequence[Source], translate: Translate) -> str:
    """Name specifications, and the sections of each.

    A section is a link; if its name stands for several texts, each of their versions is one.
    """
    by_owner: dict[str, list[str]] = {}
    for source in sources:
        links = {spec: address(spec, source.text, source.section) for spec in source.specs}
        url = ""
        if len(set(links.values())) == 1:
            links, url = {}, next(iter(links.values()))
        owner = _owner(source, links, translate)
        by_owner.setdefault(owner, []).append(f"“{_link(source.section, url)}”")
    pair, comma = translate(_("%s, %s")), translate(_(", "))
    return translate(_("; ")).join(
        pair % (owner, comma.join(sections)) for owner, sections in by_owner.items()
    )


def _owner(source: Source, links: Mapping[str, str], translate: Translate) -> str:
    """Name the text in which a source stands."""
    if source.text == "core":
        families = {spec.partition(" ")[0].upper(): links.get(spec, "") for spec in source.specs}
        every = translate(_(" and ")).join(_link(family, url) for family, url in families.items())
        return translate(_("the main specification of %s")) % every
    texts = names(source.specs, translate, lambda spec, text: _link(text, links.get(spec, "")))
    if source.text:
        return translate(_("%s, which follow %s")) % (texts, names([MAIN], translate))
    return texts


def address(spec: str, text: str, section: str) -> str:
    """Return where a section of a specification can be read, or ""."""
    key = (MAIN, "") if text == "asgi" else (spec, text)
    return _addresses().get((*key, section), "")


@functools.cache
def _addresses() -> Mapping[tuple[str, str, str], str]:
    return {
        (spec, file["text"], section): f"{file['url']}#L{line}"
        for file in tomllib.loads(data("sections.toml"))["file"]
        for spec in file["specs"]
        for section, line in file["lines"].items()
    }


class RuleRole(ReferenceRole):
    """A link to a rule, with its ID as text."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link; a rule that no page has is a warning."""
        link = refer(self.env.docname, self.target, nodes.literal(self.rawtext, self.title))
        self.set_source_info(link)
        return [link], []


def check_places(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each rule that no page draws."""
    for rule in rules().values():
        if ("rule", rule.rule_id) not in env.domains.standard_domain.objects:
            text = "No page has the rule %r: put its block {rule} on the page %r."
            logger.warning(text, rule.rule_id, rule.page, location=f"rules.toml:{rule.line}")


def setup(app: Sphinx) -> None:
    """Register rules as objects, with our own box and role for them."""
    app.add_object_type("rule", "rule")
    app.add_directive_to_domain("std", "rule", RuleDirective, override=True)
    app.add_role_to_domain("std", "rule", RuleRole(), override=True)
    app.connect("env-check-consistency", check_places)
