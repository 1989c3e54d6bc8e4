"""Tables of what commands measured, each from the record of its name in `docs/matrix`.

{mutation} code         the mutants of each file to copy: how many a test noticed
{drift} code            a sample of them, by the examples and checks of the pages
{statements} both       false statements in both languages, by kind, and how they are refused
{statements} chinese    the same in Chinese alone
{exhaustive} server     how many applications were tried on our server
{exhaustive} drivers    what other drivers did with the same applications
{peers} suites          what the tests of other servers say when server.py replaces their code
{parity} total          how many examples run in a browser and print what their page shows
{parity} pages          the same for each page
… when                  when it was measured, with what, and on which machine
"""

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.records.record import Shows
from lifespec_docs.rules.spec_tables import Cell, code, said, table

Record = dict[str, Any]
Translate = Callable[[str], str]

__all__ = ["Recorded", "setup"]


class Recorded(Shows):
    """One part of a record."""

    required_arguments = 1

    def draw(self) -> list[nodes.Node]:
        """Return it; a part that there is not, docutils tells with file and line."""
        parts, part = PARTS[self.name], self.arguments[0]
        if part not in parts:
            raise self.error(f"There is no part {part!r}, only {', '.join(parts)}.")
        return [parts[part](self.data, self.translate)]


def _number(number: int) -> Cell:
    return said(f"{number:,}")


def _numbers(row: Record, *keys: str) -> list[Cell]:
    return [_number(row[key]) for key in keys]


def _table(titles: list[str], rows: list[list[Cell]], translate: Translate) -> nodes.table:
    return table([translate(title) for title in titles], rows, "drift")


def _by_tests(found: Record, translate: Translate) -> nodes.table:
    columns = "mutants", "noticed", "equivalent", "survived"
    rows, tabular = [], translate("(tables)")
    for part, counts in found["parts"].items():
        name, _space, tables = part.partition(" ")
        label = code(f"{name}.py")
        if tables:
            label = [*label, nodes.Text(f" {tabular}")]
        rows.append([label, *_numbers(counts, *columns)])
    return _table(
        [_("File"), _("Mutants"), _("Noticed"), _("Equivalent"), _("Survived")], rows, translate
    )


def _by_examples(found: Record, translate: Translate) -> nodes.table:
    rows = [
        [code(f"{name}.py"), *_numbers(row, "mutants", "tried", "noticed")]
        for name, row in found["code"].items()
    ]
    return _table([_("File"), _("Mutants"), _("Tried"), _("Noticed")], rows, translate)


def _statements(found: Record, translate: Translate) -> nodes.table:
    """Show how many false statements of each kind were refused in which way."""
    ways = [way for way in WAYS if found["all"][way]]
    rows = [
        [said(translate(title)), *_numbers(found[kind], *ways)]
        for kind, title in STATEMENTS.items()
        if kind in found
    ]
    return _table([_("Kind"), *map(WAYS.__getitem__, ways)], rows, translate)


def _ours(found: Record, translate: Translate) -> nodes.table:
    columns = "applications", "told apart", "stop points of one", "runs", "differences"
    rows = [[said(size), *_numbers(counts, *columns)] for size, counts in found["server"].items()]
    titles = [_("Actions"), _("Applications"), _("With behaviour of their own")]
    more = [_("Points to stop at, at most"), _("Runs"), _("Differences")]
    return _table([*titles, *more], rows, translate)


def _others(found: Record, translate: Translate) -> nodes.table:
    verdicts = "as the texts say", "unspecified", "otherwise", "waits for ever"
    size = str(found["actions"]["drivers"])
    rows = [
        [said(f"{name} {row['version']}".rstrip()), *_numbers(row[size], *verdicts)]
        for name, row in found["drivers"].items()
    ]
    titles = [
        _("Implementation"),
        _("As specified"),
        _("Not specified"),
        _("Differs"),
        _("Does not end"),
    ]
    return _table(titles, rows, translate)


def _suites(found: Record, translate: Translate) -> nodes.table:
    columns = "passed", "failed", "skipped"
    rows = []
    for suite in found["suites"]:
        name = f"{suite['server']} {suite['version']}"
        for when, text in (("own", _("%s, its own code")), ("adapted", _("%s with server.py"))):
            rows.append([said(translate(text) % name), *_numbers(suite[when], *columns)])
    return _table([_("Test suite"), _("Passed"), _("Failed"), _("Skipped")], rows, translate)


PARITY = (
    _("Examples"),
    _("Can run in a browser"),
    _("Same output in English"),
    _("Same output in Chinese"),
)
COUNTED = ("examples", "virtual", "en", "zh")


def _in_all(found: Record, translate: Translate) -> nodes.table:
    rows = found["pages"].values()
    sums = [_number(sum(row[key] for row in rows)) for key in COUNTED]
    return _table([*PARITY], [sums], translate)


def _by_page(found: Record, translate: Translate) -> nodes.table:
    rows = [[_page(name), *_numbers(row, *COUNTED)] for name, row in found["pages"].items()]
    return _table([_("Page"), *PARITY], rows, translate)


def _page(name: str) -> Cell:
    """Return a link that is the page's title."""
    place = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{name}"}
    return [pending_xref("", nodes.inline("", name), refexplicit=False, refwarn=True, **place)]


def _when(found: Record, translate: Translate) -> nodes.paragraph:
    python = found["python"].removeprefix("CPython ")
    tools = [f"{tool} {found[tool.lower()]}" for tool in TOOLS if tool.lower() in found]
    text = ", ".join([f"CPython {python}", *tools])
    sentence = translate("Measured with %s.") % text
    return nodes.paragraph("", sentence, translatable=False)


TOOLS = ("mutmut", "Pyodide")
WAYS = {  # a false statement is refused
    "tried": _("Tried"),
    "known": _("The build names the mistake"),
    "turned": _("The word is named that one language alone changed"),
    "shown": _("Evidence is shown beside it"),
    "read": _("Only the change is shown"),
}
STATEMENTS = {
    "all": _("All"),
    "lifespec": _("About lifespec or the protocol"),
    "others": _("About other software"),
    "rules": _("With a link to a rule"),
    "default": _("A default"),
    "order": _("Before and after"),
    "negation": _("A negation"),
    "name": _("The name of something else"),
    "invented name": _("A name that does not exist"),
    "number": _("A number"),
    "level": _("A level"),
    "role": _("Server and application"),
    "word": _("Another verb or adjective"),
    "outcome": _("An outcome"),
    "status": _("An exit status"),
    "title": _("A title"),
    "items": _("Two steps of a list change places"),
}
PARTS: dict[str, dict[str, Callable[[Record, Translate], nodes.Element]]] = {
    "mutation": {"code": _by_tests, "when": _when},
    "drift": {"code": _by_examples, "when": _when},
    "statements": {
        "both": lambda found, translate: _statements(found["both"], translate),
        "chinese": lambda found, translate: _statements(found["chinese"], translate),
    },
    "exhaustive": {"server": _ours, "drivers": _others, "when": _when},
    "parity": {"total": _in_all, "pages": _by_page, "when": _when},
    "peers": {"suites": _suites, "when": _when},
}


def setup(app: Sphinx) -> None:
    """Register a directive for each record."""
    for name in PARTS:
        app.add_directive(name, Recorded)
