"""Each kind has a sentence in both languages, with the same parts; a report is made of them."""

import ast
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lifespec
from lifespec.conformance import Fact, Finding, Report, Verdict
from lifespec.conformance.report import Row, fact
from lifespec.conformance.text import Words, app, command, render, server, words
from lifespec.conformance.words import data, translator
from lifespec.testing import facts
from lifespec.testing.trace import Entry

__all__: list[str] = []

SOURCE = Path(lifespec.__file__).parent
ROOMS = (facts.SENTENCES, app.SENTENCES, server.SENTENCES, command.SENTENCES)
HAN = re.compile("[一-鿿]")


def marked() -> Iterator[str]:
    """Yield what the source marks for translation."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "_":
                yield str(ast.literal_eval(node.args[0]))


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in tables."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def parts(sentence: str) -> list[str]:
    return sorted(name for _text, name, *_rest in string.Formatter().parse(sentence) if name)


def test_no_kind_has_two_sentences() -> None:
    kinds = [kind for room in ROOMS for kind in room]
    assert len(kinds) == len({*kinds})
    assert {*kinds} < {*words.SENTENCES}


def test_every_kind_that_is_made_has_a_sentence() -> None:
    pattern = re.compile(r'\b(?:fact|Fact|_outcome|_advice)\(\s*(?:"\w+", )?"([a-z-]+)"')
    used = {kind for path in SOURCE.rglob("*.py") for kind in pattern.findall(path.read_text())}
    assert used - {*words.SENTENCES} == set()


@pytest.mark.parametrize("sentence", sorted({*marked()}))
def test_each_sentence_is_translated_with_its_parts(sentence: str) -> None:
    chinese = translator("zh")(sentence)
    if sentence not in ("lifespan", "{type}: {text}"):
        assert chinese != sentence or not re.search("[a-z]{2}", re.sub("{.*?}|%.", "", sentence))
    assert parts(chinese) == parts(sentence)


def test_the_catalog_has_nothing_else() -> None:
    catalog = re.findall(r'^msgid (".*")$', data("report.zh.po"), re.MULTILINE)
    known = {ast.literal_eval(each) for each in catalog} - {""}
    toml = [tomllib.loads(data(name)) for name in ("cases.toml", "vocabulary.toml")]
    assert known - {*marked()} - {*strings(toml)} == set()


SENT = Fact("sent-nothing")
ENTRIES = (
    Entry(0.0, "called", "lifespan"),
    Entry(0.1, "refused", "lifespan.x", Fact("sent-nothing")),  # type: ignore[arg-type]
    Entry(0.2, "cancelled"),
)
WHOLE = Report(
    "shop:app",
    "asgi 2.0",
    (
        Finding(Verdict.FAIL, "events-known", "case-1", SENT, "kept", "", ENTRIES),
        Finding(Verdict.FAIL, "events-known", "case-2", SENT, "kept"),
        Finding(Verdict.WARN, "receive-refuses-unknown", "case-3", SENT, framework="Starlette"),
        Finding(Verdict.INFO, "startup-answered", "case-4", SENT),
        Finding(Verdict.SKIP, "shutdown-answered", "case-4", Fact("does-not-stop")),
        Finding(Verdict.PASS, "message-is-text", "case-5", fact("text", text="a\nb"), "shows", "b"),
    ),
    rows=(Row("left", fact("text", text="case-1")), Row("left", fact("text", text="case-2"))),
    starts=True,
    stops=True,
    ends=True,
)  # fmt: skip


def test_a_report_has_the_first_lines_then_what_is_wrong() -> None:
    text = str(WHOLE)
    assert text.startswith(
        "shop:app does not keep lifespan 2.0 (ASGI)\nleft    case-1\n        case-2\n"
    )
    assert "1 broken: events-known; 1 kept" in text
    assert "1 that Starlette decides: lifespec explain receive-refuses-unknown" in text
    assert "1 not judged: it does not stop" in text
    assert "FAIL events-known ---" in text
    assert "case-1, case-2" in text
    assert "It sent nothing." in text
    assert "WARN" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_verbose_shows_every_finding_and_the_table() -> None:
    text = render(WHOLE, verbose=True)
    for each in (
        "INFO startup-answered",
        "not of your code",
        "FAIL  events-known",
        "case-1 and 1 more",
    ):
        assert each in text


def test_a_report_is_chinese_to_the_last_word() -> None:
    text = render(WHOLE, "zh", verbose=True)
    assert HAN.search(text.splitlines()[0])
    words_ = re.findall(r"[A-Za-z][a-z]{3,}", re.sub(r"`[^`]*`|[\w.:-]*[.:-][\w.:-]+", "", text))
    assert {*words_} <= {
        "lifespan",
        "lifespec",
        "explain",
        "Starlette",
        "startup",
        "text",
        "shop",
        "dict",
    }


def test_a_terminal_gets_colours() -> None:
    assert "\x1b[1;31mFAIL events-known" in render(WHOLE, colours=True)
    assert "\x1b" not in render(WHOLE)


def test_a_part_has_no_control_characters() -> None:
    assert Words().say(fact("text", text="a\x1b[31m\nb")) == "a\\x1b[31m\nb"
    assert Words().say(fact("did-nothing", limit=2.0)) == "It did nothing within 2 s."


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (Report("a:b", "asgi 2.0", obstacle=Fact("needs-trio-installed")), "could not be checked"),
        (Report("a:b", "asgi 2.0", supported=False), "a:b does not support lifespan"),
        (Report("a:b", "asgi 2.0", supported=False, starts=False), "served without its startup"),
        (
            Report("a:b", "asgi 2.0", WHOLE.findings[-1:], rows=(Row("never ran", SENT),)),
            "and one lifespan never ran",
        ),
        (
            Report("a:b", "asgi 2.0", WHOLE.findings[-1:], rows=(Row("died", SENT),)),
            "and an error occurred",
        ),
    ],
)
def test_the_first_line_says_what_is_the_matter(report: Report, line: str) -> None:
    assert line in str(report).splitlines()[0]


def test_an_obstacle_follows_the_first_line() -> None:
    text = str(Report("a:b", "asgi 2.0", obstacle=Fact("needs-trio-installed")))
    assert text.splitlines()[1] == "it needs trio: pip install trio"
