"""Edge cases: what happens, what `Lifespan` does then, and the programs that show it.

    :::{decision} crashes-while-serving
    :cases: crashes-while-serving
    :rules: crash-logged crash-may-continue
    :lifespec: too

    What happens.

    What the server does.
    :::

The programs of a case are the blocks below it, up to the next case or the end of its section.
`{decisions}` is the table of all cases of a page: lines of known form in their outputs are its
facts. Other pages lead to a case by its name: {ref}`it crashes <decision-crashes-while-serving>`.
`cases` names those of the suite that play it to servers, which lead back here.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import takewhile
from typing import Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.rules import Rule, rules
from lifespec.words import names
from lifespec_docs.blocks import folded_node, summary_node
from lifespec_docs.rules import refer
from lifespec_docs.words import mark as _
from lifespec_docs.words import translations

Translate = Callable[[str], str]

logger = logging.getLogger(__name__)
FACTS = {
    "outcome": re.compile(r"\boutcome: ([a-z_]+|None)$", re.MULTILINE),
    "served": re.compile(r"^served: (yes|no)\b", re.MULTILINE),
    "raises": re.compile(r"^raises: (\w+)", re.MULTILINE),
    "log": re.compile(r"^(DEBUG|INFO|WARNING|ERROR): .*?(| \(with a traceback\))$", re.MULTILINE),
}
NEEDED = "outcome", "served"
ADOPTED = {"asgi 2.0": False, "pagi 0.3": True}  # specifications that decide, the first one first
COLUMNS = {_("What happens"): 43, _("Outcome"): 20, _("Log"): 17, _("Decided by"): 20}
SERVED = {"yes": _("served"), "no": _("not served")}
SOURCE = ["case-source"]  # the classes of those who decided, in the foot of a case


class DecisionDirective(SphinxDirective):
    """One case: its argument is its name, its first paragraph says what happens."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "cases": directives.unchanged_required,
        "rules": directives.unchanged_required,
        "lifespec": lambda argument: directives.choice(argument or "alone", ("alone", "too")),
    }

    def run(self) -> list[nodes.Node]:
        """Return the case with its text parsed."""
        self.assert_has_content()
        name = self.arguments[0]
        if name in self.state.document.ids:
            raise self.error(f"This page has the name {name!r} already.")
        link = nodes.raw("", f'<a class="case-name" href="#{name}">{name}</a>\n', format="html")
        foot = nodes.paragraph("", "", *self._sources(), classes=["case-foot"], translatable=False)
        case = nodes.container("", link, *self.parse_content_to_nodes(), foot, decision=name)
        case["ids"], case["classes"] = [name], ["case", "decision"]
        self.set_source_info(case)
        self.state.document.ids[name] = case
        label = f"decision-{name}"  # for {ref}
        self.env.domains.standard_domain.note_hyperlink_target(label, self.env.docname, name)
        return [case]

    def _sources(self) -> Iterator[nodes.Node]:
        """Yield who decided, and the links to the rules."""
        rule_ids, ours = self.options.get("rules", "").split(), self.options.get("lifespec")
        if unknown := [rule_id for rule_id in rule_ids if rule_id not in rules()]:
            raise self.error(f"rules.toml has no rule {unknown[0]!r}.")
        translate = translations(self.env).gettext
        by_rules = dict.fromkeys(authority(rules()[rule_id], translate) for rule_id in rule_ids)
        decided = {} if ours == "alone" else dict(by_rules)
        if ours:
            decided[translate(_("lifespec's choice"))] = None
        if not decided or (ours and decided == by_rules) or (ours == "too" and not by_rules):
            raise self.error("Name the rules of a case, and `lifespec` if it decides otherwise.")
        for name in decided:
            yield from (nodes.inline("", name, classes=SOURCE), nodes.Text(" "))
        for rule_id in rule_ids:
            link = refer(self.env.docname, rule_id, nodes.literal("", rule_id))
            yield from (link, nodes.Text(" "))
        names = self.options.get("cases", "").split()
        label = translate(_("%s: %s")) % (translate(_("Cases")), "")
        yield from [nodes.inline("", label)] * bool(names)
        for name in names:
            target = f"cases.html#case-{name}"
            yield nodes.reference("", "", nodes.literal("", name), refuri=target, internal=True)
            yield nodes.Text(" ")


def authority(rule: Rule, translate: Translate) -> str:
    """Return who decided a rule: lifespan 2.0, or PAGI, or lifespec if neither specifies it."""
    for spec, adopted in ADOPTED.items():
        for source in rule.sources:
            if spec in source.specs and source.section:
                text = names([spec], translate)
                if source.text == "core":
                    family = spec.partition(" ")[0].upper()
                    text = translate(_("the main specification of %s")) % family
                return translate(_("%s, adopted")) % text if adopted else text
    return translate(_("lifespec's choice"))


def _facts(programs: Iterable[nodes.Node]) -> dict[str, list[Any]]:
    """Return the facts in what the programs of a case print, each once and in order."""
    blocks = (node for node in programs if isinstance(node, nodes.literal_block))
    text = "\n".join(block.astext() for block in blocks if "output" in block["classes"])
    return {name: list(dict.fromkeys(form.findall(text))) for name, form in FACTS.items()}


def _programs(case: nodes.Element) -> list[nodes.Node]:
    """Return what stands below a case, before the next one or the end of its section."""

    def is_part(node: nodes.Node) -> bool:
        return not (isinstance(node, nodes.section) or "decision" in cast("nodes.Element", node))

    return list(takewhile(is_part, case.parent.children[case.parent.index(case) + 1 :]))


def _fold(case: nodes.Element, programs: Collection[nodes.Node], title: str) -> None:
    """Let the programs of a case unfold."""
    for node in programs:
        case.parent.remove(node)
    if programs:
        folded = folded_node("", summary_node(title, title, translatable=False), *programs)
        case.parent.insert(case.parent.index(case) + 1, folded)


class DecisionsDirective(SphinxDirective):
    """The table of all cases of this page."""

    def run(self) -> list[nodes.Node]:
        """Return the head of the table; `fill` adds its rows when the page has been read."""
        titles = map(translations(self.env).gettext, COLUMNS)
        head = (nodes.entry("", nodes.paragraph("", title)) for title in titles)
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for width in COLUMNS.values()]
        group += [nodes.thead("", nodes.row("", *head)), nodes.tbody()]
        return [nodes.table("", group, classes=["cases", "decisions", "colwidths-given"])]


def fill(app: Sphinx, document: nodes.document) -> None:
    """Add a row for each case, and one for each section; warn of a case without facts."""
    translate, rows, before = translations(app.env).gettext, list[nodes.row](), None
    for case in [box for box in document.findall(nodes.container) if "decision" in box]:
        programs = _programs(case)
        facts = _facts(programs)
        if missing := [name for name in NEEDED if not facts[name]]:
            text = "No program of the case %r prints its %s."
            logger.warning(text, case["decision"], " and ".join(missing), location=case)
        if case.parent is not before:
            rows.append(_section(case.parent))
        before = case.parent
        cells = _cells(case, facts, translate)
        rows.append(nodes.row("", *(nodes.entry("", *cell) for cell in cells)))
        _fold(case, programs, translate(_("Program")))
    for table in document.findall(nodes.table):
        if "decisions" in table["classes"]:
            next(table.findall(nodes.tbody)).extend(rows)


def _section(section: nodes.Element) -> nodes.row:
    """Return a row across the table: the title of a section."""
    link = nodes.reference("", section[0].astext(), refid=section["ids"][0], internal=True)
    entry = nodes.entry("", nodes.paragraph("", "", link), morecols=len(COLUMNS) - 1)
    return nodes.row("", entry, classes=["phase"])


def _cells(
    case: nodes.Element, facts: dict[str, list[Any]], translate: Translate
) -> Iterator[list[nodes.Node]]:
    """Yield what happens, the outcome, the log, and who decided."""
    _name, title, *_does, foot = cast("list[nodes.Element]", case.children)
    words = (node.deepcopy() for node in title.children)
    yield [nodes.paragraph("", "", nodes.reference("", "", *words, refid=case["decision"]))]
    yield list(_ends(facts, translate))
    yield list(_logged(facts["log"], translate)) or [_nothing()]
    sources = foot.findall(nodes.inline)
    yield [_small(nodes.Text(node.astext())) for node in sources if node["classes"] == SOURCE]


def _ends(facts: dict[str, list[Any]], translate: Translate) -> Iterator[nodes.Node]:
    """Yield the outcome, if there is one yet, whether anything was served, and what is raised."""
    for outcome in facts["outcome"]:
        literal = nodes.literal("", outcome, classes=["outcome"])
        yield _nothing() if outcome == "None" else nodes.paragraph("", "", literal)
    for served in facts["served"]:
        yield _small(nodes.Text(translate(SERVED[served])))
    for name in facts["raises"]:
        before, after = translate(_("raises %s")).split("%s")
        yield _small(nodes.Text(before), nodes.literal("", name), nodes.Text(after))


def _logged(entries: Iterable[tuple[str, str]], translate: Translate) -> Iterator[nodes.Node]:
    for level, traceback in entries:
        text = " " + translate(_("with traceback")) if traceback else ""
        parts = nodes.literal("", level), nodes.inline("", text, classes=["small"])
        yield nodes.paragraph("", "", *parts)


def _small(*parts: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *parts, classes=["small"])


def _nothing() -> nodes.paragraph:
    return nodes.paragraph("", "\N{EN DASH}", classes=["nothing"])


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("decision", DecisionDirective)
    app.add_directive("decisions", DecisionsDirective)
    app.connect("doctree-read", fill)
