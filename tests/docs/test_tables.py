"""Tables are templates: what a record says is what a page shows, in both languages."""

import gettext
import json
import re
from collections.abc import Callable
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT, Sample

from lifespec.conformance import cases
from lifespec_docs import tables, views
from lifespec_docs.tables import environment
from lifespec_docs.views import records
from lifespec_docs.views.conditions import split

MATRIX = ROOT / "docs" / "matrix"
RECORDS = ["servers", "amgi", "pagi", "drivers"]
OTHERS = ["loglines", "signals", "frameworks", "hosts", "middleware"]


def rendered(name: str, *arguments: str) -> str:
    """Return the Markdown of a table in English."""
    view = views.tables()[name]
    template = environment(gettext.NullTranslations()).get_template(f"{name}.md")
    return template.render(view(*arguments))


def subjects(record: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MATRIX / f"{record}.json").read_text("utf-8"))[
        "subjects"
    ]
    return found


# -- the directive --

HOSTILE = "a|b <b>*x*</b> `c` [d](e) $f$"


@pytest.fixture
def page(
    build: Callable[..., Sample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Sample]:
    """Build a page with a table of a template that is given."""
    monkeypatch.setattr(tables, "TEMPLATES", tmp_path)
    monkeypatch.setattr(tables, "views_by_name", lambda: {"trial": view})

    def page(template: str, text: str, **configuration: str) -> Sample:
        extensions = ["myst_parser", "lifespec_docs.tables"]
        files = {"index.md": text, "trial.md": template}
        return build(files, extensions=extensions, exclude_patterns=["trial.md"], **configuration)

    return page


def view(*arguments: str) -> dict[str, Any]:
    return {"value": HOSTILE, "arguments": arguments, "sentence": "say `a|b` <x>"}


def test_a_value_is_shown_as_it_is(page: Callable[..., Sample]) -> None:
    template = "| {{ value }} | {{ value|code }} |\n|---|---|\n| {{ sentence|prose }} | x |\n"
    site = page(template, "# A\n\n```{table} trial\n```\n")
    soup = site.page()
    assert [cell.get_text() for cell in soup.select("th")] == [HOSTILE, HOSTILE]
    assert soup.select_one("td code").get_text() == "a|b"  # type: ignore[union-attr]
    assert "<x>" in soup.td.get_text()  # type: ignore[union-attr]
    assert not site.warnings


def test_arguments_are_words_or_stand_in_quotes(page: Callable[..., Sample]) -> None:
    site = page("{{ arguments|join('; ') }}", '# A\n\n```{table} trial "a, b" c\n```\n')
    assert "<p>a, b; c</p>" in site.text("index.html")


def test_only_the_caption_belongs_to_the_catalog_of_the_page(page: Callable[..., Sample]) -> None:
    template = "{.stub}\n| Head |\n|---|\n| Cell |\n\nMore.\n"
    text = "# A\n\n```{table} trial\nThe *caption*\n```\n"
    soup = page(template, text).page()
    assert soup.caption.get_text().startswith("The caption")  # type: ignore[union-attr]
    assert soup.select("tbody th")
    catalog = page(template, text, builder="gettext").text("index.pot")
    assert re.findall(r'^msgid "(.+)"$', catalog, re.MULTILINE) == ["A", "The *caption*"]


def test_the_words_of_a_template_are_those_of_the_language(page: Callable[..., Sample]) -> None:
    site = page('{{ _("Server") }}', "# A\n\n```{table} trial\n```\n", language="zh_CN")
    assert "<p>服务器</p>" in site.text("index.html")


@pytest.mark.parametrize(
    ("template", "table", "sentence"),
    [
        ("", "nothing", "No view has a table 'nothing': trial."),
        ("{{ absent }}", "trial", "'absent' is undefined"),
    ],
)
def test_a_fault_has_the_file_and_the_line_of_the_page(
    page: Callable[..., Sample], template: str, table: str, sentence: str
) -> None:
    warnings = page(template, f"# A\n\nText.\n\n```{{table}} {table}\n```\n").warnings
    assert warnings.startswith("index.md:5: ERROR: ")
    assert sentence in warnings


# -- the records --


@pytest.mark.parametrize("record", [*RECORDS, *OTHERS])
def test_a_record_says_its_date_and_its_versions_and_the_page_shows_both(record: str) -> None:
    found = json.loads((MATRIX / f"{record}.json").read_text("utf-8"))
    assert found["date"] == min(row["date"] for row in found["subjects"])
    shown = rendered("measured", record)
    assert found["date"] in shown
    for row in found["subjects"]:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
        assert row["versions"]
        for package, version in row["versions"].items():
            assert f"{package} {version}" in shown.replace("\\", "")


def test_a_row_measured_alone_is_named_with_its_date(monkeypatch: pytest.MonkeyPatch) -> None:
    record = deepcopy(records.read("servers"))
    record["subjects"][1] |= {"date": "2030-01-02", "python": "CPython 3.99.0"}
    views.tables()  # whose modules would keep this `read` if they were imported later
    monkeypatch.setattr(records, "read", lambda _: record)
    assert "hypercorn, asyncio was measured on [2030-01-02]{.date}, with CPython" in rendered(
        "measured", "servers"
    )


@pytest.mark.parametrize("record", RECORDS)
def test_each_cell_that_is_no_pass_leads_to_a_sentence(record: str) -> None:
    cells = rendered("matrix", record) + rendered("matrix", record, "cases")
    anchors: list[str] = []
    for row in subjects(record):
        anchors += re.findall(r"\{ #(seen-[\w-]+)\}", rendered("findings", record, row["name"]))
    assert len(anchors) == len({*anchors})
    assert {*re.findall(r"\(#(seen-[\w-]+)\)", cells)} == {*anchors}


def test_the_log_lines_of_a_server_stand_once_if_both_signals_end_alike() -> None:
    lines = rendered("loglines", "answers", "shutdown", "status").splitlines()
    servers = [line.split(" | ")[0].removeprefix("| ").partition(" 2")[0] for line in lines]
    assert servers.count("gunicorn, asgi") == 2
    assert sum(each.startswith("hypercorn") for each in servers) == 1


CONDITIONS = [(python, many) for python in ("3.11", "3.14") for many in ("one", "two")]


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        ("aaaa", [((), "a")]),
        ("aabb", [(("3.11",), "a"), (("3.14",), "b")]),
        ("abab", [(("one",), "a"), (("two",), "b")]),
        ("abbb", [(("3.11", "one"), "a"), (("3.11", "two"), "b"), (("3.14",), "b")]),
        ("abcd", [((python, many), None) for python, many in CONDITIONS]),
    ],
)
def test_a_row_splits_by_the_conditions_that_make_a_difference(values: str, rows: Any) -> None:
    found = split(dict(zip(CONDITIONS, values, strict=True)))
    assert [tuple(each.conditions) for each in found] == [conditions for conditions, _ in rows]
    assert all(value in (None, each.value) for each, (_, value) in zip(found, rows, strict=True))


# -- edge cases and the cases of the suite --

DECISION = re.compile(r"^:::\{decision\} (\S+)\n(?::cases: (.+)\n)?", re.MULTILINE)
UNPLAYED = {  # edge cases that no case of the suite plays to servers, and why
    "the application of the suite is a coroutine function": ("call-raises", "call-returns-nothing"),
    "only the server knows when it begins to serve": ("crashes-right-away",),
    "what fails in a server is the server's own": ("both-fail",),
    "a server may cancel the application, and need not": (
        "cancelled-at-shutdown", "cancelled-twice", "ignores-cancellation", "raises-when-cancelled",
    ),
    "a server may have a limit, and need not": ("answers-too-late", "raises-after-it-was-given-up"),
    "no rule says what a server does then": ("lingers-after-failure", "receives-again"),
    "a case continues after a refusal, to see more of the server": ("lets-a-refusal-pass",),
}  # fmt: skip
UNEDGED = {  # cases for servers that are about no edge case, and why
    "requests, the port or workers, and not the message sequence": (
        "group-stopped", "limit-expires", "port-in-use", "request-in-flight", "state",
        "state-on-a-websocket", "two-workers-group-stopped", "two-workers-request-in-flight",
        "state-on-one-connection", "state-set-while-serving", "two-workers", "two-workers-failed",
        "two-workers-failed-with-empty-message", "two-workers-failed-without-message",
        "two-workers-shutdown-failed",
    ),
    "`send` of `Lifespan` does not raise there": ("failed-whatever-send-raises",),
}  # fmt: skip
WIDER = {  # edge cases of which their one case is a part
    "cancelled-at-startup", "exits", "raises-a-cancellation", "receives-after-shutdown",
    "shutdown-completes", "startup-completes", "startup-fails-without-text",
}  # fmt: skip


def test_edge_cases_and_cases_for_servers_lead_to_each_other_or_say_why_not() -> None:
    page = (ROOT / "docs" / "edge-cases.md").read_text("utf-8")
    edges = {name: cases.split() for name, cases in DECISION.findall(page)}
    servers = {each.name for each in cases.load() if each.role == "server"}
    played = {name for named in edges.values() for name in named}
    assert {name for name, named in edges.items() if not named} == {*chain(*UNPLAYED.values())}
    assert servers - played == {*chain(*UNEDGED.values())}
    assert played <= servers
    alone = {name: named[0] for name, named in edges.items() if len(named) == 1}
    assert {name for name, case in alone.items() if name != case} == WIDER
