"""Cases: what happens, what follows from it, and programs that show it.

    :::{decision} crashes
    :rules: crash-logged crash-may-continue
    :lifespec: too

    What happens.

    What the server does.
    :::

The Python blocks below a case, up to the next one or its section's end, are its programs. Their
output is compared when they run; lines of known form in it are the facts of the case, from which
`overviews` draws the tables:

    ERROR: … (with a traceback)
    raises: StartupFailed …
    served: yes, outcome: crashed

Other pages lead to a case by its name: {ref}`it crashes <decision-crashes>`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from lifespec.conformance.rules import Rule, names
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.domain import RuleDomain, refer

__all__ = ["FACTS", "CaseDirective", "authority", "case_node", "deciders", "facts_of", "setup"]

logger = logging.getLogger(__name__)

FACTS = {
    "outcome": re.compile(r"\boutcome: ([a-z_]+|None)$", re.MULTILINE),
    "served": re.compile(r"^served: (yes|no)\b", re.MULTILINE),
    "raises": re.compile(r"^raises: (\w+)", re.MULTILINE),
    "log": re.compile(r"^(DEBUG|INFO|WARNING|ERROR): .*?(| \(with a traceback\))$", re.MULTILINE),
}
NEEDED = "outcome", "served"
ADOPTED = {"asgi 2.0": False, "pagi 0.3": True}  # whose word counts, in this order


class case_node(nodes.General, nodes.Element):
    """A case: `name`, and when its page was read `facts`; its children are its text."""


class CaseDirective(SphinxDirective):
    """One case: its argument is its name, its first paragraph says what happens."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "rules": directives.unchanged_required,
        "lifespec": lambda argument: directives.choice(argument or "alone", ("alone", "too")),
    }

    def run(self) -> list[nodes.Node]:
        """Return the case with its text parsed."""
        self.assert_has_content()
        name = self.arguments[0]
        node = case_node("", *self.parse_content_to_nodes(), name=name, facts={})
        node["ids"], node["classes"] = [name], ["case", "decision"]
        self.set_source_info(node)
        if name in self.state.document.ids:
            logger.warning("This page has the name %r already.", name, location=node)
        self.state.document.ids[name] = node
        label = f"decision-{name}"  # for {ref}
        self.env.domains.standard_domain.note_hyperlink_target(label, self.env.docname, name)
        node += self._source(node)
        return [node]

    def _source(self, node: case_node) -> nodes.paragraph:
        """Return who decided, and the links to the rules."""
        book = cast("RuleDomain", self.env.domains[RuleDomain.name]).book
        rule_ids, ours = self.options.get("rules", "").split(), self.options.get("lifespec")
        known = [book[rule_id] for rule_id in rule_ids if rule_id in book]
        for rule_id in (rule_id for rule_id in rule_ids if rule_id not in book):
            logger.warning("rules.toml has no rule %r.", rule_id, location=node)
        if not rule_ids and not ours:
            text = "The case %r names no rule, and is not lifespec's choice either."
            logger.warning(text, node["name"], location=node)
        names_ = deciders(known, ours, words(self.env))
        if ours and (ours == "too", bool(rule_ids)) == (True, False):
            logger.warning(
                "The case %r is lifespec's choice alone: not “too”.", node["name"], location=node
            )
        if ours and names_ == deciders(known, None, words(self.env)):
            text = "The rules of the case %r are lifespec's choice: delete its option."
            logger.warning(text, node["name"], location=node)
        decided = (nodes.inline("", name, classes=["case-source"]) for name in names_)
        here = self.env.docname
        parts = [
            *decided,
            *(refer(here, "rule", rule.rule_id, refexplicit=True, refwarn=True) for rule in known),
        ]
        spaced = (each for part in parts for each in (part, nodes.Text(" ")))
        return nodes.paragraph("", "", *spaced, classes=["case-foot"], translatable=False)


def deciders(rules: Sequence[Rule], ours: str | None, translate: Callable[[str], str]) -> list[str]:
    """Say who decided a case, each once: by its rules, and we, alone or too."""
    decided = [authority(rule, translate) for rule in rules if ours != "alone"]
    return list(dict.fromkeys([*decided, *[translate("lifespec's choice")] * bool(ours)]))


def authority(rule: Rule, translate: Callable[[str], str]) -> str:
    """Say who decided what a rule says: the text of this edition, PAGI's, or we."""
    for spec, adopted in ADOPTED.items():
        for source in rule.sources:
            if spec in source.specs and source.section:
                text = names([spec], translate)
                if source.text == "core":
                    family = spec.partition(" ")[0].upper()
                    text = translate("the main specification of %s") % family
                return translate("%s, adopted") % text if adopted else text
    return translate("lifespec's choice")


def facts_of(printed: Iterable[str]) -> dict[str, list[Any]]:
    """Read the facts in what the programs of a case print, each once and in order."""
    text = "\n".join(printed)
    return {name: list(dict.fromkeys(form.findall(text))) for name, form in FACTS.items()}


def _blocks(case: case_node) -> list[nodes.literal_block]:
    """Find the blocks that stand below a case, before the next one or its section's end."""
    found = []
    for node in case.parent.children[case.parent.index(case) + 1 :]:
        if isinstance(node, case_node | nodes.section):
            break
        if isinstance(node, nodes.literal_block):
            found.append(node)
    return found


def take_facts(_app: Sphinx, document: nodes.document) -> None:
    """Note the facts of each case, which its programs print; warn of a case that has none."""
    for case in document.findall(case_node):
        outputs = (block for block in _blocks(case) if "output" in block["classes"])
        case["facts"] = facts_of(output.astext() for output in outputs)
        for fact in NEEDED:
            if not case["facts"][fact]:
                text = "No program of the case %r prints its %s."
                logger.warning(text, case["name"], fact, location=case)


def visit_case(writer: HTML5Translator, node: case_node) -> None:
    writer.body.append(writer.starttag(node, "div"))
    writer.body.append(f'<a class="case-name" href="#{node["name"]}">{node["name"]}</a>\n')


def depart_case(writer: HTML5Translator, _node: case_node) -> None:
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> None:
    """Register `{decision}`, and what is asked of it."""
    app.add_node(case_node, html=(visit_case, depart_case))
    app.add_directive("decision", CaseDirective)
    app.connect("doctree-read", take_facts)
