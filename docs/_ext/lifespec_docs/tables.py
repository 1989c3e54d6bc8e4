"""`{table} NAME [ARGUMENT…]`: the table NAME, drawn by the template `records/NAME.md`.

The template is Markdown, so roles and links work in it. Its variables are what the view NAME
returns for the arguments; an argument with spaces is quoted. The content of the directive, if there
is any, is the caption of the first table, and is translated with the page.

Values are escaped where they are put in; `_` and `ngettext` translate words, which may have markup
of their own; the filters `code` and `prose` mark a value up. `[text]{.class #id}` is an anchor, to
which pages can refer (`{#` opens a comment of Jinja). The class `stub` makes the first column of
a table a head. A template with headings is the last of its section; the class of a heading is its
anchor, the same in each language.
"""

import functools
import gettext
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.views import tables as views_by_name
from lifespec_docs.words import ROOT, translations

TEMPLATES = ROOT / "docs" / "_templates" / "records"
DATA = ("docs/matrix/*", "src/lifespec/conformance/data/*.toml", "docs/edge-cases.md")  # of views
OF_TABLE = {"problems": ("docs/problems/*.md",)}  # what one view reads beside the data
WORDS = ("macros", "words")  # templates that others import
PIPE = "\ue07c"  # replaces a pipe in a literal, which would end the cell
SPECIAL = re.compile(r"([\\`*_\[\]<>|{}$&~#!])")


class Markdown(Markup):
    """Text that is Markdown already."""


def markdown(value: object) -> Markup:
    """Return a value as Markdown that shows it as it is; markup stays markup."""
    if isinstance(value, Markup):
        return value
    return Markdown(SPECIAL.sub(r"\\\1", str(value).replace("\n", " ")))


def code(value: object) -> Markup:
    """Return a value as a literal."""
    text = str(value).replace("|", PIPE).replace("\n", " ")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " * (text.startswith("`") or text.endswith("`"))
    return Markdown(f"{fence}{space}{text}{space}{fence}")


def prose(value: str) -> Markup:
    """Return a sentence of a record; what it has in backquotes is a literal."""
    parts = enumerate(value.split("`"))
    return join(code(part) if place % 2 else part for place, part in parts)


def join(values: Iterable[object], between: str = "") -> Markup:
    """Join values, each of them escaped unless it is markup."""
    return Markdown(between.join(map(markdown, values)))


@functools.cache
def environment(
    words: gettext.NullTranslations, language: str = "en", folder: Path = TEMPLATES
) -> Environment:
    """Return what renders templates with these words."""

    def translated(text: str, **values: object) -> Markup:
        return _filled(words.gettext(text), values)

    def numbered(one: str, many: str, number: int, **values: object) -> Markup:
        return _filled(words.ngettext(one, many, number), {"num": number, **values})

    jinja = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        finalize=markdown,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,  # so that macros and blocks return markup; `finalize` has escaped before
    )
    jinja.filters |= {"code": code, "prose": prose, "join": join}
    jinja.globals |= {"_": translated, "ngettext": numbered, "language": language}
    return jinja


def _filled(text: str, values: dict[str, object]) -> Markup:
    """Put values in place of `%(name)s`."""
    escaped = {name: str(markdown(value)) for name, value in values.items()}
    return Markdown(text % escaped if values else text)


class TableDirective(SphinxDirective):
    """A table of a record."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the rendered template, which the catalogs of the pages leave out."""
        before = {id(section) for section in self.state.document.findall(nodes.section)}
        parsed = self.parse_text_to_nodes(self._text(), allow_section_headings=True)
        sections = self.state.document.findall(nodes.section)  # which MyST appends by itself
        drawn = list(parsed)
        drawn += [section for section in sections if id(section) not in before]
        for root in drawn:
            for node in list(root.findall()):  # a list: they are replaced meanwhile
                self._settle(node)
        return [*parsed, *self._caption(drawn)]

    def _settle(self, node: nodes.Node) -> None:
        """Give a node the place of the directive, and keep it out of the catalogs."""
        if isinstance(node, nodes.Text):
            node.parent.replace(node, nodes.Text(node.replace(PIPE, "|")))
            return
        node.source, node.line = self.get_source_info()
        if isinstance(node, nodes.section) and node["classes"]:
            [old], [new] = node["ids"], node["classes"]
            self.state.document.ids[new] = self.state.document.ids.pop(old)
            node["ids"], node["classes"] = [new], []
        if isinstance(node, nodes.table) and "stub" in node["classes"]:
            next(node.findall(nodes.colspec))["stub"] = 1
        if isinstance(node, nodes.TextElement) and not isinstance(node, nodes.Inline):
            node["translatable"] = False

    def _text(self) -> str:
        try:
            name, *arguments = shlex.split(self.arguments[0])
            view = views_by_name()[name]
        except KeyError:
            raise self.error(
                f"No view has a table {name!r}: {', '.join(sorted(views_by_name()))}."
            ) from None
        except ValueError as error:
            raise self.error(str(error)) from error
        words = translations(self.env)
        templates = [f"docs/_templates/records/{template}.md" for template in (name, *WORDS)]
        for pattern in (*DATA, *OF_TABLE.get(name, ()), *templates):
            for path in ROOT.glob(pattern):
                self.env.note_dependency(path)
        try:
            jinja = environment(words, self.config.language, TEMPLATES)
            return jinja.get_template(f"{name}.md").render(view(*arguments))
        except (TemplateError, LookupError, TypeError, ValueError) as error:
            place = f"{type(error).__name__}: {error}"
            raise self.error(f"The table {name!r} cannot be drawn: {place}") from error

    def _caption(self, drawn: list[nodes.Node]) -> list[nodes.Node]:
        """Put the content above the first table; return the messages of the parser."""
        if not self.content:
            return []
        tables: list[nodes.table] = []
        for node in drawn:
            tables += node.findall(nodes.table)
        if not tables:
            raise self.error("Only a table has a caption.")
        text = "\n".join(self.content)
        inlines, messages = self.parse_inline(text, lineno=self.content_offset + 1)
        caption = nodes.title(text, "", *inlines)
        self.set_source_info(caption)
        tables[0].insert(0, caption)
        return list(messages)


def setup(app: Sphinx) -> None:
    """Register `{table}` in place of docutils' directive of that name."""
    app.add_directive("table", TableDirective, override=True)
