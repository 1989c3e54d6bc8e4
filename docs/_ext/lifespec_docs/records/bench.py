"""What `make bench` measured: a table and a chart of a measure, one lifespan by Python."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.diagrams.drawing import Drawing
from lifespec_docs.records.record import Shows
from lifespec_docs.rules.spec_tables import grid

Row = dict[str, Any]
Translate = Callable[[str], str]

__all__ = ["Measured", "MeasuredByPython", "MeasuredWhen", "chart", "setup"]

MILLI = 1e-3  # of a second
WIDTH, LEFT, STEP = 480, 142, 24  # of a chart: in all, of its labels, from bar to bar


class OfBench(Shows):
    """A directive that shows what was measured."""

    shown = "bench"


class Measured(OfBench):
    """One measure: its rows as a table, with `:chart:` as bars before it."""

    required_arguments = 1
    option_spec: ClassVar = {"chart": directives.flag}

    def draw(self) -> list[nodes.Node]:
        """Return the chart and the table."""
        rows: list[Row] = self.data[self.arguments[0]]
        found: list[nodes.Node] = [_table(rows, self.translate)]
        if "chart" in self.options:
            html = f'<figure class="states">{chart(rows, self.translate)}</figure>'
            found.insert(0, nodes.raw("", html, format="html", classes=["no-search"]))
        return found


class MeasuredByPython(OfBench):
    """One lifespan on each Python, as a multiple of the floor there."""

    def draw(self) -> list[nodes.Node]:
        """Return a chart and a table: a row for each implementation, a column for each Python."""
        found: list[Row] = self.data["pythons"]
        html = f'<figure class="states">{by_python(found, self.translate)}</figure>'
        names = {row["name"]: row for row in found[-1]["lifespan"]}
        rows = [
            [_label(row, self.translate), *(_multiple(each["lifespan"], name) for each in found)]
            for name, row in names.items()
        ]
        titles = [self.translate(_("What is measured")), *(each["python"] for each in found)]
        return [nodes.raw("", html, format="html", classes=["no-search"]), _grid(titles, rows)]


class MeasuredWhen(OfBench):
    """The sentence that says when, with which Python and on what machine."""

    def draw(self) -> list[nodes.Node]:
        """Return a paragraph."""
        sentence = self.translate("Measured on %s: %s; %s.")
        text = sentence % (self.data["date"], self.data["python"], self.data["machine"])
        return [nodes.paragraph("", text, translatable=False)]  # its words are


# what is no package, by its name in the record
ROWS = {
    "floor": _("floor"),
    "inline": _("inline"),
    "%s at once": _("%s at once"),
    "%s at once, with garbage collection": _("%s at once, with garbage collection"),
    "%s applications": _("%s applications"),
    "without validator": _("without validator"),
    "with validator": _("with validator"),
}


def _label(row: Row, translate: Translate) -> str:
    """Name a row: a package by its name and version, all else in the page's language."""
    if row.get("version") or row["name"].startswith("import ") or row["name"].endswith("()"):
        return f"{row['name']} {row.get('version', '')}".rstrip()
    word = ROWS[row["name"]]
    label = translate(word)
    return label % f"{row['count']:,}" if "count" in row else label


def _ratio(row: Row, rows: list[Row]) -> float:
    return float(row["seconds"] / rows[0]["seconds"])


def chart(rows: list[Row], translate: Translate) -> str:
    """Draw a bar for each row, as long as its ratio to the first."""
    drawing = Drawing(WIDTH, STEP * len(rows))
    unit = (WIDTH - LEFT - 60) / max(_ratio(row, rows) for row in rows)
    told = []
    for number, row in enumerate(rows):
        y, ratio = STEP * number + 3, _ratio(row, rows)
        label, times = _label(row, translate), f"{ratio:.2f} ×"
        drawing.line(f"M{LEFT} {y}h{unit * ratio:.1f}v{STEP - 6}h{-unit * ratio:.1f}z")
        drawing.text(LEFT - 8, y + 13.5, label, ' font-size="12"', "end")
        drawing.text(LEFT + unit * ratio + 8, y + 13.5, times, ' font-size="12"', "start")
        told.append(translate("%s: %s") % (label, times))
    label = translate("Time of each as a multiple of the first")
    return drawing.svg(label, [translate("; ").join(told)])


def by_python(found: list[Row], translate: Translate) -> str:
    """Draw a group of bars for each implementation but the floor, in it a bar for each Python."""
    rows = found[-1]["lifespan"][1:]
    highest = max(_ratio(row, each["lifespan"]) for each in found for row in each["lifespan"])
    unit = (WIDTH - LEFT - 110) / highest
    drawing = Drawing(WIDTH)
    told, y = [], 3.0
    for row in rows:
        drawing.text(LEFT - 8, y + 12, _label(row, translate), ' font-size="12"', "end")
        ratios = {each["python"]: _multiple(each["lifespan"], row["name"]) for each in found}
        for python, ratio in filter(itemgetter(1), ratios.items()):
            length = unit * float(ratio)
            drawing.line(f"M{LEFT} {y:g}h{length:.1f}v{STEP - 10}h{-length:.1f}z")
            times = f"{ratio} × · {python.split()[-1]}"
            drawing.text(LEFT + length + 8, y + 11, times, ' font-size="11"', "start")
            y += STEP - 6
        all_of_it = translate(", ").join(f"{python} {ratio}" for python, ratio in ratios.items())
        told.append(translate("%s: %s") % (_label(row, translate), all_of_it))
        y += 8
    drawing.height = y
    label = translate("Time of each as a multiple of the floor, by version of Python")
    return drawing.svg(label, [translate("; ").join(told)])


def _multiple(rows: list[Row], name: str) -> str:
    """Return the ratio of that row to the first, or "" if it was not measured."""
    return "".join(f"{_ratio(row, rows):.2f}" for row in rows if row["name"] == name)


def _table(rows: list[Row], translate: Translate) -> nodes.table:
    titles = [_("What is measured"), _("Time"), _("Ratio")] + [_("Memory")] * ("bytes" in rows[0])
    found = []
    for row in rows:
        cells = [_label(row, translate), _time(row["seconds"]), f"{_ratio(row, rows):.2f}"]
        if "bytes" in rows[0]:
            cells.append(translate("%s bytes") % f"{row['bytes']:,}" if "bytes" in row else "")
        found.append(cells)
    return _grid(map(translate, titles), found)


def _grid(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> nodes.table:
    """Return a table whose first column is twice as wide as each other."""
    head = _cells(titles)
    return grid(head, map(_cells, rows), (40, *[20] * (len(head) - 1)))


def _time(seconds: float) -> str:
    number, unit = (seconds / MILLI, "ms") if seconds >= MILLI else (seconds * 1e6, "µs")
    return f"{number:.3g}\N{NO-BREAK SPACE}{unit}"


def _cells(texts: Iterable[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in texts))


def setup(app: Sphinx) -> None:
    """Register `{measured}`, `{measured-by-python}` and `{measured-when}`."""
    app.add_directive("measured", Measured)
    app.add_directive("measured-by-python", MeasuredByPython)
    app.add_directive("measured-when", MeasuredWhen)
