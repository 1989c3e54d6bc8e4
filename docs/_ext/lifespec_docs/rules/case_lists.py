"""What the page on the cases draws from the data: the cases of a role, and their vocabulary."""

import functools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance import cases, language
from lifespec.conformance.cases import Case
from lifespec.conformance.language import Phrase, Verb
from lifespec.conformance.rules import rules
from lifespec_docs.i18n.messages import note_cases, words
from lifespec_docs.rules.domain import RuleDomain, inlines, refer

__all__ = ["CasesByRuleDirective", "CasesDirective", "VocabularyDirective", "setup"]

logger = logging.getLogger(__name__)
WORDS: dict[str, Mapping[str, Verb | Phrase]] = {
    "verbs": language.VERBS,
    "doings": language.DOINGS,
    "phrases": language.PHRASES,
}


class CasesDirective(SphinxDirective):
    """All cases that check that role: what happens, the script, what is expected."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions; nothing, and a warning, where there are no such cases."""
        role = self.arguments[0]
        note_cases(self.env)
        chosen = [case for case in cases.load() if case.role == role]
        if not chosen:
            logger.warning("There are no cases of %r.", role, location=self.get_location())
        return [_definitions(self._case(case) for case in chosen)] if chosen else []

    def _case(self, case: Case) -> nodes.definition_list_item:
        translate = words(self.env)
        anchor = f"case-{case.name}"
        _domain(self.env).note_place("case", case.name, anchor)
        labels = self.env.domains.standard_domain.anonlabels  # so that tables can refer to it
        labels[anchor] = (self.env.docname, anchor)
        head = nodes.term("", "", nodes.literal("", case.name), ids=[anchor])
        script = nodes.literal_block(
            "", "\n".join(_lines(case)), language="text", classes=["drawn"]
        )
        expected = nodes.bullet_list("", *self._expectations(case), bullet="-")
        says = nodes.paragraph("", translate(case.says))
        return nodes.definition_list_item("", head, nodes.definition("", says, script, expected))

    def _expectations(self, case: Case) -> Iterator[nodes.list_item]:
        translate = words(self.env)
        for rule_id, phrase, argument in case.expect:
            says = translate("%s: %s") % ("", translate(language.PHRASES[phrase].says))
            line = nodes.paragraph(
                "", "", refer(self.env.docname, "rule", rule_id, refwarn=True), nodes.Text(says)
            )
            if argument:
                line += [nodes.Text(translate("%s: %s") % ("", "")), nodes.literal("", argument)]
            yield nodes.list_item("", line)


class CasesByRuleDirective(SphinxDirective):
    """The cases that expect each rule."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions, in the order of the rules."""
        note_cases(self.env)
        found: dict[str, dict[str, list[str]]] = {rule_id: {} for rule_id in rules()}
        for case in cases.load():
            for rule_id in dict.fromkeys(each.rule for each in case.expect):
                found[rule_id].setdefault(case.role, []).append(case.name)
        items = (self._item(rule_id, roles) for rule_id, roles in found.items() if roles)
        return [nodes.definition_list("", *items, classes=["simple", "cases-by-rule"])]

    def _item(self, rule_id: str, roles: dict[str, list[str]]) -> nodes.definition_list_item:
        translate = words(self.env)
        anchor = f"cases-{rule_id}"
        _domain(self.env).note_place("cases", rule_id, anchor)
        lines = []
        for role, names in roles.items():
            line = nodes.paragraph("", translate("%s: %s") % (translate(role), ""))
            for number, name in enumerate(names):
                line += nodes.Text(translate(", ") if number else "")
                line += refer(self.env.docname, "case", name, refwarn=True)
            lines.append(line)
        head = nodes.term(
            "", "", refer(self.env.docname, "rule", rule_id, refwarn=True), ids=[anchor]
        )
        return nodes.definition_list_item("", head, nodes.definition("", *lines))


def _domain(env: BuildEnvironment) -> RuleDomain:
    return cast("RuleDomain", env.domains[RuleDomain.name])


class VocabularyDirective(SphinxDirective):
    """The words of the cases: `keys`, or `verbs`, `doings` or `phrases` and a role."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions; nothing, and a warning, where there are no such words."""
        rows = dict(_rows(*self.arguments))
        if not rows:
            what = " ".join(self.arguments)
            logger.warning("There are no words %r.", what, location=self.get_location())
            return []
        translate = words(self.env)
        return [
            _definitions(
                nodes.definition_list_item(
                    "",
                    nodes.term("", "", nodes.literal("", word)),
                    nodes.definition("", nodes.paragraph("", "", *inlines(translate(says)))),
                )
                for word, says in rows.items()
            )
        ]


@functools.cache
def _file() -> dict[str, Any]:
    """Return cases.toml."""
    file = resources.files("lifespec.conformance").joinpath("data/cases.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _lines(case: Case) -> Iterator[str]:
    """Yield the lines of the script, and the case's other keys as they stand in the file."""
    yield from case.lines
    row = _file().get(case.name, {})
    shown = [key for key in row if key not in ("role", "says", "script", "expect")]
    yield from [""] * bool(shown)
    yield from (f"{key} = {json.dumps(row[key])}" for key in shown)


def _rows(kind: str, role: str = "") -> Iterator[tuple[str, str]]:
    if kind == "keys":
        yield from language.KEYS.items()
    for word, row in WORDS.get(kind, {}).items():
        if role in row.roles:
            form = getattr(row, "form", "")
            yield f"{word} {form.upper()}".rstrip(), row.says


def _definitions(items: Iterable[nodes.definition_list_item]) -> nodes.definition_list:
    return nodes.definition_list("", *items, classes=["simple", "cases"])


def setup(app: Sphinx) -> None:
    """Register `{cases}`, `{cases-by-rule}` and `{vocabulary}`."""
    app.add_directive("cases", CasesDirective)
    app.add_directive("cases-by-rule", CasesByRuleDirective)
    app.add_directive("vocabulary", VocabularyDirective)
