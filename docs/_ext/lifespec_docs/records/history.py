"""Earlier releases, from `docs/matrix/history.json` of `make history`: `{history} servers`.

The argument names the record that has the newest release.  Of `servers`, there is a chart of the
rules that each release kept, and a table of the verdicts that differ; of `frameworks`, a table of
the sentences that differ.  Changes between the same two releases share a row.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from lifespec.conformance.report import Verdict
from lifespec.conformance.words import mark as _
from lifespec_docs.diagrams.drawing import FAINT, Drawing
from lifespec_docs.facts import recorded
from lifespec_docs.facts.role import with_literals
from lifespec_docs.records.asked import Said
from lifespec_docs.records.frameworks import GROUPS, OfFrameworks, Run, has_hooks
from lifespec_docs.records.record import OfRecord, Record, Subject, Translate, sign_and_word
from lifespec_docs.rules.spec_tables import Cell, said, table

__all__ = ["History", "chart", "setup"]

LEFT, STEP, HIGH, BAR = 170, 62, 56, 36  # of a chart: the names, from year to year, a row, a bar
TITLES = _("Until"), _("Since")


class Change(NamedTuple):
    """What an application or server did until a release, and what it does since the next."""

    who: str
    until: str
    before: Said
    since: str
    after: Said


class History(OfRecord, OfFrameworks):
    """The differences between the releases of the last years."""

    option_spec: ClassVar = {}
    shown = "history"

    def draw(self) -> list[nodes.Node]:
        """Return the chart, if there is one, and the table."""
        newest = self.known("history", ["servers", "frameworks"])
        self.env.note_dependency(f"matrix/{newest}.json")
        data = recorded.read(self.root, newest)
        year = data["date"].partition("-")[0]
        found = {each["name"]: each["releases"] for each in self.data["subjects"]}
        if newest == "frameworks":
            rows = [each for each in data["subjects"] if each["name"] in found]
            return [self._of_frameworks(rows, found, year)]
        record = Record(newest, data)
        subjects = [each for each in record.subjects if each.name in found]
        bars = {
            each.name: [*_kept(found[each.name], record.counts(each), year)] for each in subjects
        }
        html = f'<figure class="states">{chart(bars, self.translate)}</figure>'
        drawn = nodes.raw("", html, format="html", classes=["no-search"])
        return [drawn, self._of_servers(subjects, found, year)]

    def _of_servers(
        self, subjects: Sequence[Subject], found: Mapping[str, Sequence[Any]], year: str
    ) -> nodes.table:
        changes: dict[Change, list[Cell]] = {}
        for each in subjects:
            cells = {
                (one["row"], one["silent"])
                for row in found[each.name]
                for one in row.get("differs", ())
            }
            for cell in sorted(cells, key=[*_cells(each)].index):
                verdict = each.verdict(cell[0], silent=cell[1])
                history = [
                    *_verdicts(found[each.name], cell, verdict),
                    (_release(each.versions, year), verdict),
                ]
                for change in _changes(each.name, history):
                    changes.setdefault(change, []).append(
                        [self.link("case" if cell[1] else "rule", cell[0])]
                    )
        return self._table(_("Rules and cases"), changes, [each.name for each in subjects])

    def _of_frameworks(
        self, rows: Sequence[Mapping[str, Any]], found: Mapping[str, Sequence[Any]], year: str
    ) -> nodes.table:
        changes: dict[Change, list[Cell]] = {}
        for each in rows:
            now = each["happened"]
            releases = [
                (_release(row["versions"], row["year"]), {**now, **row["happened"]})
                for row in found[each["name"]]
                if "versions" in row
            ] + [(_release(each["versions"], year), now)]
            for title, history in _sentences(releases):
                for change in _changes(each["name"], history):
                    changes.setdefault(change, []).append(with_literals(self.translate(title)))
        return self._table(_("What differs"), changes, [each["name"] for each in rows])

    def _table(
        self, title: str, changes: Mapping[Change, Sequence[Cell]], names: Container[str]
    ) -> nodes.table:
        """Return a row for each change, and one for each release that could not be installed."""
        comma = self.translate(", ")
        rows = [
            [
                said(change.who),
                [node for part in cells for node in (nodes.Text(comma), *part)][1:],
                [*self._told(change.before), *said(f" · {change.until}")],
                [*self._told(change.after), *said(f" · {change.since}")],
            ]
            for change, cells in changes.items()
        ]
        rows += [
            [
                said(each["name"]),
                said(str(row["year"])),
                [nodes.inline("", row["reason"], classes=["language-en"])],
                [],
            ]
            for each in self.data["subjects"]
            for row in each["releases"]
            if "reason" in row and each["name"] in names
        ]
        titles = (_("Name"), title, *TITLES)
        return table([self.translate(each) for each in titles], rows, "history", "no-search")

    def _told(self, words: Said) -> Cell:
        if words[0] in {each.value for each in Verdict}:
            return [sign_and_word(words[0], self.translate)]
        return self.sentence(words)


def _release(versions: Mapping[str, str], year: int | str) -> str:
    """Name a release: its version, and what it was measured with."""
    (_name, version), *others = versions.items()
    return f"{', '.join([version, *map(' '.join, others)])} ({year})"


def _cells(subject: Subject) -> Iterator[tuple[str, bool]]:
    """Yield the cells of a subject in the order of its findings."""
    yield from ((each.row, each.silent) for each in subject.findings)


def _verdicts(
    releases: Sequence[Mapping[str, Any]], cell: tuple[str, bool], newest: str
) -> Iterator[tuple[str, str]]:
    """Yield release and verdict of a cell, which is the newest where nothing differs."""
    for row in (each for each in releases if "versions" in each):
        differs = {(each["row"], each["silent"]): each["verdict"] for each in row["differs"]}
        yield _release(row["versions"], row["year"]), differs.get(cell, newest)


def _sentences(releases: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield what a column of the other tables says of each release, by its title.

    If the hooks did not run in one of the releases, that is all that is told.
    """
    hooks = [has_hooks(happened) for _release, happened in releases]
    if len({*hooks}) > 1:
        told = [_("run") if each else _("are ignored") for each in hooks]
        yield (
            _("The hooks"),
            [(name, (each,)) for (name, _all), each in zip(releases, told, strict=True)],
        )
        return
    for columns in GROUPS.values():
        for column in columns:
            if column.question in releases[-1][1]:
                yield (
                    column.title,
                    [
                        (name, column.says(Run(happened[column.question])))
                        for name, happened in releases
                    ],
                )


def _changes(who: str, history: Sequence[tuple[str, Any]]) -> Iterator[Change]:
    """Yield where one release differs from the next."""
    for (until, before), (since, after) in pairwise(history):
        if before != after:
            words = [(each,) if isinstance(each, str) else each for each in (before, after)]
            yield Change(who, until, words[0], since, words[1])


def _kept(
    releases: Sequence[Mapping[str, Any]], newest: Mapping[str, int], year: str
) -> Iterator[tuple[str, int, int]]:
    """Yield the year, the number of rules kept, and that of all rules."""
    for row in [*releases, {"year": year, "rules": newest}]:
        rules = row.get("rules", {})
        yield str(row["year"]), rules.get(Verdict.PASS, 0), sum(rules.values())


def chart(bars: Mapping[str, Sequence[tuple[str, int, int]]], translate: Translate) -> str:
    """Draw a row for each server, in it a bar for each year, as high as its part of the rules."""
    years = [year for year, *_counts in max(bars.values(), key=len, default=())]
    drawing = Drawing(LEFT + STEP * len(years), 24 + HIGH * len(bars))
    for column, year in enumerate(years):
        drawing.text(LEFT + STEP * (column + 0.5), 14, year, ' font-size="12"')
    told = []
    for row, (name, counts) in enumerate(bars.items()):
        floor = 24 + HIGH * (row + 1) - 4
        drawing.text(LEFT - 12, floor - 6, name, ' font-size="12"', "end")
        drawing.line(f"M{LEFT} {floor}h{STEP * len(years)}", FAINT)
        for year, kept, rules in counts:
            x = LEFT + STEP * (years.index(year) + 0.5)
            top = BAR * kept / (rules or 1)
            drawing.line(f"M{x - 16:g} {floor}v{-top:.1f}h32v{top:.1f}")
            drawing.text(x, floor - top - 4, str(kept), ' font-size="11"')
        each = translate(", ").join(f"{year} {kept}/{rules}" for year, kept, rules in counts)
        told.append(translate("%s: %s") % (name, each))
    label = translate("Rules kept by the newest release of each year")
    return drawing.svg(label, [translate("; ").join(told)])


def setup(app: Sphinx) -> None:
    """Register `{history}`."""
    app.add_directive("history", History)
