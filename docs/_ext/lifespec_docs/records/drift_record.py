"""What `make drift` found: `{drift}` with the name of a part is a table, `:chart:` a chart.

{drift} scores          what was tried in each language, and how much of it was noticed
{drift} code            the mutants of each file to copy, and in which language one was noticed
{drift} documents       the changes of each kind of place, and who noticed
{drift} tokens          the same by the kind of token
{drift} listed          what nothing can notice, by its reason, and how often
{drift} survivors       what nothing noticed and nobody listed, by name
{drift} when            when it was measured, with what, and how long it took

The record is `docs/matrix/drift.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.diagrams.drawing import Drawing
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.dialect_tables import code, said, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, ClassVar

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    from lifespec_docs.rules.dialect_tables import Cell

    Record = dict[str, Any]
    Row = dict[str, Any]
    Translate = Callable[[str], str]

__all__ = ["PLACES", "Drift", "chart", "setup"]

FILE = "matrix/drift.json"
# Who can notice, by what the record calls it: the strongest first.
GUARDS = {
    "run": "An example",
    "held": "A table or a test",
    "other": "The other language",
    "copy": "Only a copy",
    "none": "Nothing",
}
MEANT = ("run", "held", "other")
PLACES = {
    "code server.py": "`server.py`",
    "code application.py": "`application.py`",
    "code validate.py": "`validate.py`",
    "en rule": "Rules, English",
    "zh rule": "Rules, Chinese",
    "en case": "Decisions, English",
    "en option": "Options of directives",
    "both rules.toml": "`rules.toml`",
    "both cases.toml": "`cases.toml`",
    "en example": "Examples",
    "en output": "Outputs",
    "both diagram": "Pictures",
    "en table": "Tables, English",
    "zh cell": "Tables, Chinese",
    "en text": "Other prose, English",
    "zh text": "Other prose, Chinese",
    "en title": "Titles, English",
    "zh title": "Titles, Chinese",
    "en comment": "Comments, English",
    "zh comment": "Comments, Chinese",
    "zh word": "Words of drawings, Chinese",
    "en explain": "The command's copy, English",
    "zh explain": "The command's copy, Chinese",
}
MUTANTS = {"en": "Mutants, English", "zh": "Mutants, Chinese"}
CHANGES = {"en": "Changes, English", "zh": "Changes, Chinese", "both": "Changes, both at once"}
WIDTH, LEFT, STEP = 480, 190, 22  # of the chart: in all, of its labels, from bar to bar
STRONG, WEAK = (f' fill="currentColor" fill-opacity="{opacity}"' for opacity in (0.75, 0.25))


class Drift(SphinxDirective):
    """One part of what was found."""

    required_arguments = 1
    option_spec: ClassVar = {"chart": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return it; a part that there is not, docutils tells with file and line."""
        self.env.note_dependency(FILE)
        path = Path(self.env.srcdir, FILE)
        found: Record = json.loads(path.read_text(encoding="utf-8"))
        translate = words(self.env)
        parts: dict[str, Callable[[Record, Translate], list[nodes.Node]]] = {
            "scores": _scores,
            "code": _code,
            "documents": _documents,
            "tokens": _tokens,
            "listed": _listed,
            "survivors": _survivors,
            "when": _when,
        }
        part = self.arguments[0]
        if part not in parts:
            raise self.error(f"There is no part {part!r}, only {', '.join(parts)}.")
        drawn = parts[part](found, translate)
        if "chart" in self.options:
            html = f'<figure class="states">{chart(_by_place(found), translate)}</figure>'
            drawn.insert(0, nodes.raw("", html, format="html", classes=["no-search"]))
        return drawn


def _number(number: int) -> Cell:
    return said(f"{number:,}")


def _share(part: int, whole: int) -> str:
    """Say a share, and never 100 % where something is missing."""
    share = 100 * part / whole if whole else 100.0
    return f"{min(share, 99.9) if part < whole else share:.4g}\N{NO-BREAK SPACE}%"


def _scores(found: Record, translate: Translate) -> list[nodes.Node]:
    """Say of each language how many were tried, noticed, listed, and which share that is."""
    titles = ["", "Score", "Tried", "Noticed", "Only a copy", "Listed", "Nothing"]
    rows = [[said(translate(MUTANTS[each])), *_score(_mutants(found, each))] for each in MUTANTS]
    for language, label in CHANGES.items():
        counter = Counter[str]()
        for row in found["documents"]:
            if row["language"] == language:
                counter.update(_guards(row))
        rows.append([said(translate(label)), *_score(counter)])
    return [table([title and translate(title) for title in titles], rows, "drift")]


def _mutants(found: Record, language: str) -> Counter[str]:
    counter = Counter[str]()
    for row in found["code"].values():
        counter.update({"made": row["mutants"], "run": row[language], "listed": row["listed"]})
    counter["none"] = counter["made"] - counter["run"]
    return counter


def _score(row: Counter[str]) -> list[Cell]:
    """Return the cells of a line: what is listed is neither noticed nor asked for."""
    asked = row["made"] - row["listed"]
    missed = max(row["none"] - row["listed"], 0)
    counts = [row["made"], asked - missed, row["copy"], row["listed"], missed]
    return [said(_share(asked - missed, asked)), *map(_number, counts)]


def _listed(found: Record, translate: Translate) -> list[nodes.Node]:
    titles = ["Place", "Token", "Changes", "Reason"]
    rows = []
    for row in found["listed"]:
        label = PLACES[f"{row['language']} {row['place']}"]
        place = code(label.strip("`")) if "`" in label else said(translate(label))
        cells = [
            said(translate(row["token"])),
            _number(row["number"]),
            said(translate(row["reason"])),
        ]
        rows.append([place, *cells])
    return [table([translate(title) for title in titles], rows, "drift")]


def _code(found: Record, translate: Translate) -> list[nodes.Node]:
    titles = ["File", "Mutants", "Listed", "Noticed in English", "Noticed in Chinese"]
    rows = [
        [
            code(f"{name}.py"),
            *(_number(row[key]) for key in ("mutants", "listed", "en", "zh")),
        ]
        for name, row in found["code"].items()
    ]
    return [table([translate(title) for title in titles], rows, "drift")]


def _by_place(found: Record) -> dict[str, Counter[str]]:
    """Count the changes of each kind of place, in the order of the table."""
    counted = {place: Counter[str]() for place in PLACES}
    for row in found["documents"]:
        counted[f"{row['language']} {row['place']}"].update(_guards(row))
    return {place: counter for place, counter in counted.items() if counter["made"]}


def _guards(row: Row) -> dict[str, int]:
    """Return the numbers of a row: what is listed was noticed by nothing."""
    listed = row.get("listed", 0)
    found = {guard: row.get(guard, 0) for guard in GUARDS}
    return {"made": row["made"], **found, "none": found["none"] + listed, "listed": listed}


def _counted(
    rows: dict[str, Counter[str]], first: str, cell: Callable[[str], Cell], translate: Translate
) -> nodes.table:
    titles = [first, "Changes", *GUARDS.values()]
    cells = (
        [cell(name), _number(row["made"]), *(_number(row[guard]) for guard in GUARDS)]
        for name, row in rows.items()
    )
    return table([translate(title) for title in titles], cells, "drift")


def _documents(found: Record, translate: Translate) -> list[nodes.Node]:
    def cell(place: str) -> Cell:
        label = PLACES[place]
        return code(label.strip("`")) if "`" in label else said(translate(label))

    return [_counted(_by_place(found), "Place", cell, translate)]


def _tokens(found: Record, translate: Translate) -> list[nodes.Node]:
    counted: dict[str, Counter[str]] = {}
    for row in found["documents"]:
        counted.setdefault(row["token"], Counter()).update(_guards(row))
    rows = {token: counted[token] for token in sorted(counted)}
    return [_counted(rows, "Token", lambda token: said(translate(token)), translate)]


def _survivors(found: Record, translate: Translate) -> list[nodes.Node]:
    if not found["survivors"]:
        return [nodes.paragraph("", translate("None."), translatable=False)]
    text = "\n".join(found["survivors"])
    return [nodes.literal_block("", text, language="text", classes=["no-search"])]


def _when(found: Record, translate: Translate) -> list[nodes.Node]:
    made = sum(row["made"] for row in found["documents"])
    mutants = sum(row["mutants"] for row in found["code"].values())
    minutes = round(sum(found["seconds"].values()) / 60)
    sentence = translate("%s mutants and %s changes, tried in %s minutes of a processor's time.")
    count = sentence % (f"{mutants:,}", f"{made:,}", minutes)
    versions = f"{found['python']}, Sphinx {found['sphinx']}, mutmut {found['mutmut']}"
    when = translate("Measured on %s: %s; %s.") % (found["date"], versions, found["machine"])
    return [nodes.paragraph("", each, translatable=False) for each in (count, when)]


def chart(rows: dict[str, Counter[str]], translate: Translate) -> str:
    """Draw a bar for each place: dark what was noticed by its meaning, pale by a copy alone."""
    drawing = Drawing(WIDTH, STEP * len(rows))
    told = list(_bars(drawing, rows, translate))
    label = translate("Changes noticed: by what they mean, and by a copy alone")
    return drawing.svg(label, ["; ".join(told)])


def _bars(drawing: Drawing, rows: dict[str, Counter[str]], translate: Translate) -> Iterator[str]:
    for number, (place, row) in enumerate(rows.items()):
        y, unit = STEP * number + 3, (WIDTH - LEFT - 60) / row["made"]
        meant = sum(row[guard] for guard in MEANT)
        label = PLACES[place].strip("`") if "`" in PLACES[place] else translate(PLACES[place])
        drawing.text(LEFT - 8, y + 12.5, label, ' font-size="12"', "end")
        start = float(LEFT)
        for part, ink in ((meant, STRONG), (row["copy"], WEAK)):
            drawing.line(f"M{start:.1f} {y}h{unit * part:.1f}v{STEP - 6}h{-unit * part:.1f}z", ink)
            start += unit * part
        share = _share(meant, row["made"])
        drawing.text(WIDTH - 52, y + 12.5, share, ' font-size="12"', "start")
        yield f"{label}: {share}"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{drift}`."""
    app.add_directive("drift", Drift)
    return {"version": "1", "parallel_read_safe": True}
