"""Draws the proposals, and the text of the specification with them, and writes that as files.

{proposals} servers       each proposal, with what the servers of the record do
{without-proposal}        the ambiguities for which nothing is proposed
{proposed-text}           the text as a whole; what is new is marked
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from docutils.core import publish_doctree
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.rules import address
from lifespec_docs.facts import recorded
from lifespec_docs.facts.role import with_literals
from lifespec_docs.finished import then
from lifespec_docs.i18n.messages import words
from lifespec_docs.i18n.restructured import restructured, written
from lifespec_docs.records import proposals
from lifespec_docs.records.proposals import Proposal
from lifespec_docs.records.record import OfRecord
from lifespec_docs.rules.spec_tables import said

Translate = Callable[[str], str]

__all__ = ["setup"]

logger = logging.getLogger(__name__)
LEVELS = "'", "-"  # the rulers of the sections below the title
SPEC, AMBIGUITIES = "asgi 2.0", "ambiguities"
TEXT, DIFF = "lifespan-proposed.rst", "lifespan-proposed.diff"


def parsed(text: str) -> list[nodes.Node]:
    """Return the nodes of a text in reStructuredText, which no catalog of a page translates."""
    document = publish_doctree(text, settings_overrides={"_disable_config": True})
    for node in document.findall(nodes.Element):
        node["translatable"] = False
        if isinstance(node, nodes.literal_block):
            node["classes"].append("not-run")
    return [*document.children]


def inline(text: str) -> list[nodes.Node]:
    """Return what is in the one paragraph of a text."""
    (paragraph,) = parsed(text)
    return [*paragraph.children]


class Proposals(OfRecord):
    """Each proposal, below the section of the specification that it changes."""

    def draw(self) -> list[nodes.Node]:
        """Return the sections."""
        found: dict[str, nodes.section] = {}
        for each in proposals.proposals():
            if each.section not in found:
                name = nodes.make_id(f"section-{each.section}")
                title = self.translate("Section “%s”") % each.section
                found[each.section] = _section(name, said(title))
            found[each.section] += self._proposal(each)
        return [*found.values()]

    def _proposal(self, proposal: Proposal) -> nodes.section:
        translate = self.translate
        url = address(SPEC, "", proposal.section)
        place = nodes.reference("", proposal.section, refuri=url)
        quote = said(translate("Not specified"))
        if proposal.quote:
            quote = [*said("“"), *inline(proposal.quote), *said("”")]
        present = _filled(translate("%s (section %s)"), quote, [place])
        reason = with_literals(translate(proposal.reason))
        if proposal.issues:
            reason = _filled(translate("%s (%s)"), reason, self._issues(proposal.issues))
        rows = {
            translate("Ambiguity"): [list(_links(proposal.ambiguities, translate))],
            translate("Specification"): [present],
            translate("Proposal"): [inline(restructured(translate(proposal.wording)))],
            translate("Reason"): [reason],
            translate("Other wording"): [
                shown
                for text, who in proposal.alternatives
                for shown in (inline(restructured(translate(text))), with_literals(translate(who)))
            ],
            translate("Servers"): [self._servers(proposal)],
        }
        listed = nodes.definition_list("", classes=["ambiguity", "simple"])
        for term, paragraphs in rows.items():
            if paragraphs:
                definition = nodes.definition("", *map(_paragraph, paragraphs))
                listed += nodes.definition_list_item("", nodes.term("", term), definition)
        return _section(proposal.name, said(translate(proposal.title)), listed)

    def _issues(self, issues: Iterable[str]) -> list[nodes.Node]:
        """Return links to the discussions."""
        links: list[nodes.Node] = []
        for issue in issues:
            repository, _, number = issue.partition("#")
            url = f"https://github.com/{repository}/issues/{number}"
            name = f"{repository.partition('/')[2]}#{number}"
            links += [*said(self.translate(", ")), nodes.reference("", name, refuri=url)]
        return links[1:]

    def _servers(self, proposal: Proposal) -> list[nodes.Node]:
        """Say who already does so, and who would change, as the record has it."""
        translate = self.translate
        if proposal.page:
            page = {"refdomain": "std", "reftype": "doc", "reftarget": proposal.page}
            link = pending_xref("", refdoc=self.env.docname, refexplicit=False, **page)
            link += nodes.inline()
            told = translate(
                "They have nothing to change, because the wording is for middleware: %s."
            )
            return _filled(told, [link])
        if not proposal.seen:
            return said(translate("Not measured."))
        found = proposals.observed(proposal, self.record.subjects, self._logged)
        nobody = translate("no measured server")
        names = {key: translate(", ").join(row) or nobody for key, row in found.items()}
        sentence = translate("Already so as far as measured: %s. Would have to change: %s.")
        return said(sentence % (names[True], names[False]))

    @cached_property
    def _logged(self) -> dict[str, Any]:
        """Return the rows of the record loglines; it has one variant of a server, the first."""
        self.env.note_dependency("matrix/loglines.json")
        rows = {row["name"]: row for row in recorded.read(self.root, "loglines")["subjects"]}
        first = {each.name.partition(", ")[0]: each.name for each in self.record.subjects[::-1]}
        return {first[name]: row for name, row in rows.items() if name in first}


class Without(SphinxDirective):
    """The ambiguities for which nothing is proposed."""

    def run(self) -> list[nodes.Node]:
        """Return a list."""
        translate, found = words(self.env), nodes.bullet_list()
        for ambiguities, reason in proposals.without():
            links = list(_links(ambiguities, translate))
            shown = _filled(translate("%s: %s"), links, said(translate(reason)))
            found += nodes.list_item("", _paragraph(shown))
        return [found]


class Text(SphinxDirective):
    """The proposed text, and the files that hold it."""

    def run(self) -> list[nodes.Node]:
        """Return the links to the files, and the text."""
        translate = words(self.env)
        files = {
            TEXT: translate("The whole text as reStructuredText"),
            DIFF: translate("What changes in the present text, as a unified diff"),
        }
        links = (nodes.reference("", title, refuri=file) for file, title in files.items())
        items = (nodes.list_item("", _paragraph([each])) for each in links)
        return [nodes.bullet_list("", *items), *_drawn(translate)]


def _drawn(translate: Translate) -> list[nodes.Node]:
    """Return the sections of the proposed text; its title is that of the page."""
    above: list[nodes.Element] = [nodes.section()]  # the open section, after those around it
    sample = ""
    for block, new, gone in proposals.proposed():
        if block.ruler in LEVELS:
            title = inline(restructured(translate(block.words)))
            section = _section(nodes.make_id(f"text-{block.words}"), title)
            del above[LEVELS.index(block.ruler) + 1 :]
            above[-1] += section
            above.append(section)
        elif block.sample:
            sample = f"{written(block, translate)}\n\n"
        elif not block.ruler:
            if gone:
                _add(above[-1], written(gone, translate), "proposed-gone")
            _add(above[-1], sample + written(block, translate), "proposed" * new)
            sample = ""
    return [*above[0].children]


def _add(section: nodes.Element, text: str, class_: str) -> None:
    """Append what a text has, an item to the list before it."""
    for node in parsed(text):
        last = section.children[-1] if section.children else None
        marked = node.children if isinstance(node, nodes.bullet_list) else [node]
        for each in cast("list[nodes.Element]", marked if class_ else []):
            each["classes"].append(class_)
        if isinstance(node, nodes.bullet_list) and isinstance(last, nodes.bullet_list):
            last += node.children
        else:
            section += node


def _section(name: str, title: Iterable[nodes.Node], *children: nodes.Node) -> nodes.section:
    head = nodes.title("", "", *title, translatable=False)
    return nodes.section("", head, *children, ids=[name], names=[name])


def _paragraph(shown: Iterable[nodes.Node]) -> nodes.paragraph:
    return nodes.paragraph("", "", *shown, translatable=False)


def _filled(sentence: str, *parts: list[nodes.Node]) -> list[nodes.Node]:
    """Put nodes where a sentence has %s."""
    found: list[nodes.Node] = []
    for text, part in zip(sentence.split("%s"), [*parts, []], strict=True):
        found += [*(said(text) if text else []), *part]
    return found


def _links(ambiguities: Iterable[str], translate: Translate) -> Iterator[nodes.Node]:
    """Yield links to headings; the headings are known when all pages are read."""
    for place, name in enumerate(ambiguities):
        if place:
            yield nodes.Text(translate(", "))
        yield nodes.reference("", name, ambiguity=name, internal=True, refuri="")


def _headings(env: BuildEnvironment) -> dict[str, str]:
    """Return the titles of the ambiguities by their anchors."""
    toc = env.tocs.get(AMBIGUITIES, nodes.bullet_list())
    items = (item for item in toc.findall(nodes.list_item) if len(item.children) == 1)
    links = (link for item in items for link in item.findall(nodes.reference))
    return {link["anchorname"].removeprefix("#"): link.astext() for link in links}


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each link to an ambiguity its title and its address."""
    titles: dict[str, str] = {}
    for link in doctree.findall(nodes.reference):
        if name := link.get("ambiguity"):
            titles = titles or _headings(app.env)
            link["refuri"] = f"{app.builder.get_relative_uri(docname, AMBIGUITIES)}#{name}"
            link.children = [nodes.Text(titles.get(name, name))]


def check(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of an ambiguity that has no answer here, and of one that the page lacks."""
    if AMBIGUITIES not in env.found_docs:
        return
    named = [name for each in proposals.proposals() for name in each.ambiguities]
    named += [name for names, _reason in proposals.without() for name in names]
    there = _headings(env)
    for name in sorted({*named} ^ there.keys()):
        text = "proposals.toml names no ambiguity %r." if name in there else "No ambiguity is %r."
        logger.warning(text, name, location=AMBIGUITIES)


def write(app: Sphinx) -> None:
    """Write the text in the language of the build, and the diff."""
    translate = None if app.config.language == "en" else words(app.env)
    Path(app.outdir, TEXT).write_text(proposals.text(translate), encoding="utf-8")
    Path(app.outdir, DIFF).write_text(proposals.diff(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the directives, and what is known when all pages are read."""
    app.add_directive("proposals", Proposals)
    app.add_directive("without-proposal", Without)
    app.add_directive("proposed-text", Text)
    app.connect("doctree-resolved", fill)
    app.connect("env-check-consistency", check)
    then(app, write)
