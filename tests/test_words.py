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
from lifespec.catalog import data, read_catalog, translator, wrapped
from lifespec.conformance import Fact, Finding, Report, Verdict
from lifespec.conformance.finding import Row
from lifespec.conformance.report import render
from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import fact
from lifespec.testing.trace import Entry
from lifespec.words import Words, cut, sentences, short_repr

SOURCE = Path(lifespec.__file__).parent
AT = {"either": 1}  # the position of a kind among the arguments, if it is not the first
MAKERS = {"fact", "Fact", "holds", "breaks", "leaves_open", "skip", "Unusable", *AT}
HAN = re.compile("[一-鿿]")


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in tables."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


TABLES = {
    name: tomllib.loads(data(f"{name}.toml")) for name in ("sentences", "vocabulary", "cases")
}
LABELS = {*strings(TABLES["sentences"]["labels"])}
TRANSLATED = {*strings(TABLES["sentences"]["sentences"]), *LABELS}


def kinds() -> Iterator[str]:
    """Yield each kind of fact that the source makes."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in MAKERS:
                kind = node.args[AT.get(name, 0)]
                either = [kind.body, kind.orelse] if isinstance(kind, ast.IfExp) else [kind]
                yield from (each.value for each in either if isinstance(each, ast.Constant))


def test_every_kind_that_is_made_has_a_sentence() -> None:
    used = {*kinds(), *(each.change for each in advice.ROWS)}
    assert len(used) > 150
    assert used - {*sentences()} == set()


def test_a_translation_has_the_parts_of_its_sentence() -> None:
    """One that waits for its translator is English until then."""
    chinese = translator("zh")
    assert [each for each in sorted(TRANSLATED) if parts(chinese(each)) != parts(each)] == []


def parts(sentence: str) -> list[str]:
    return sorted(name for _text, name, *_rest in string.Formatter().parse(sentence) if name)


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
    rows=(Row("where", fact("text", text="case-1")), Row("where", fact("text", text="case-2"))),
    starts=True,
    stops=True,
    ends=True,
)  # fmt: skip


def test_a_report_has_the_first_lines_then_what_is_wrong() -> None:
    text = str(WHOLE)
    assert text.startswith(
        "shop:app does not keep lifespan 2.0 (ASGI)\nwhere   case-1\n        case-2\n"
    )
    for each in (
        "1 broken: events-known; 1 kept",
        "1 that Starlette decides: lifespec explain receive-refuses-unknown",
        "1 not judged: it does not stop",
        "FAIL events-known ---",
        "case-1, case-2",
        "It sent nothing.",
    ):
        assert each in text
    assert "WARN" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_report_is_chinese_to_the_last_word() -> None:
    text = render(WHOLE, "zh", verbose=True)
    assert HAN.search(text.splitlines()[0])
    words = re.findall(r"[A-Za-z][a-z]{3,}", re.sub(r"`[^`]*`|[\w.:-]*[.:-][\w.:-]+", "", text))
    known = "lifespan lifespec explain Starlette startup text shop dict"
    assert {*words} <= {*known.split()}


@pytest.mark.parametrize(
    ("language", "observed", "sentence"),
    [
        ("en", fact("text", text="a\x1b[31m\nb"), "a\\x1b[31m\nb"),
        ("en", fact("did-nothing", limit=2.0), "It did nothing within 2 s."),
        (
            "en",
            fact("unclosed", name=fact("of-package", name="connection", package="psycopg2")),
            "connection of psycopg2. Close it in the clean-up.",
        ),
        (
            "en",
            fact("end", end=fact("ended-after", way=fact("ended"), seconds=1)),
            "It ended after 1 s.",
        ),
        ("zh", fact("events", events=("a", "b")), "事件依次为：a、b。"),
        (
            "zh",
            fact("signal-taken", handler=fact("text", text="shop.py"), signal="SIGINT"),
            (
                "shop.py 取代了服务器的 SIGINT 处理函数："
                "除非它会调用原来的处理函数，否则服务器收到该信号时不会停止。"
            ),
        ),
        (
            "zh",
            fact(
                "end", end=fact("ended-after", way=fact("ended-with-status", status=3), seconds=1)
            ),
            "进程以退出码 3 结束（1 秒后）。",
        ),
    ],
)
def test_what_stands_in_a_sentence(language: str, observed: Fact, sentence: str) -> None:
    assert Words(language).say(observed) == sentence


# ---- servers -----------------------------------------------------------------------------------

END = fact("ended-after", way=fact("ended-with-status", status=3), seconds=0.2)


def found(verdict: Verdict, rule: str, observed: Fact, case: str = "well-behaved") -> Finding:
    return Finding(verdict, rule, case, observed, "served", "", ENTRIES)


def of_server(*findings: Finding, **facts: Any) -> Report:
    return Report("serve {app}", "asgi 2.0", findings, role="server", **facts)


def test_a_faultless_server_has_a_line_for_what_is_open() -> None:
    """Rules of which the same was seen share it; with --verbose it is shown in full."""
    once = fact("shutdown-once", end=END)
    report = of_server(
        found(Verdict.PASS, "unsupported-by-raising", fact("served")),
        found(Verdict.INFO, "unsupported-logged", fact("not-in-output")),
        found(Verdict.PASS, "shutdown-sent", once),
        found(Verdict.INFO, "shutdown-sent", once, "interrupted"),
        found(Verdict.INFO, "crash-logged", fact("not-in-output"), "crashes-while-serving"),
        rows=(Row("left out", fact("slow-cases", count=2)),),
    )
    assert str(report) == (
        "serve {app} keeps lifespan 2.0 (ASGI)\n"
        "left out   2 slow cases, of 30 to 60 s (--slow)\n"
        "rules      4 rules: 1 kept, 3 open\n"
        "open       unsupported-logged, crash-logged: It is not in the output.\n"
        "           (well-behaved and 1 more)\n"
        "           shutdown-sent: Shutdown came once; the process ended with status 3\n"
        "           after 0.2 s. (interrupted)\n"
    )
    text = render(report, verbose=True)
    assert "shutdown-sent: The server is stopped with SIGINT, the signal of\n" in text
    assert "PASS  unsupported-by-raising  well-behaved\nINFO  unsupported-logged" in text
    assert "specified   not specified. lifespec: `Lifespan` logs at level `info` that" in text
    assert "specified   lifespan 2.0 (ASGI) does not specify this case." in text
    assert "-- lifespan.x --" in text


def test_a_broken_rule_is_a_block_with_a_hint() -> None:
    remained = fact("remained", seconds=10.0)
    report = of_server(
        found(Verdict.FAIL, "unsupported-by-raising", fact("not-served-waits", end=remained)),
        found(Verdict.WARN, "startup-failed-exits", fact("end", end=END)),
        found(Verdict.SKIP, "state-untouched", fact("no-state")),
    )
    text = str(report)
    assert text.startswith(
        "serve {app} does not keep lifespan 2.0 (ASGI)\n"
        "rules   3 rules: 1 broken, 1 missed, 1 not judged\n"
        "\n"
        "FAIL unsupported-by-raising -"
    )
    assert text.endswith("\nnot judged   state-untouched: The server provides no state.\n")
    block = " ".join(text.partition("FAIL unsupported-by-raising")[2].split())
    end = "the process was still there 10 s later"
    assert f"actual It was not served and did not end by itself; {end}." in block
    assert "hint The server waits for the answer alone." in block  # the one that was observed
    assert "The process ended with status 3 after 0.2 s." in text


def test_what_could_not_be_checked_has_no_table() -> None:
    why = fact("no-lifespan")
    report = of_server(found(Verdict.SKIP, "startup-sent", why), obstacle=why)
    assert str(report) == (
        "serve {app} could not be checked against lifespan 2.0 (ASGI)\n"
        "The server calls the application with no lifespan scope: no lifespan took place.\n"
    )


# ---- texts of others ---------------------------------------------------------------------------


def test_a_value_is_shown_whatever_its_repr_does() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    assert (short_repr("a"), short_repr(Odd())) == ("'a'", "<Odd, whose repr() raises ValueError>")
    assert cut("x" * 3000 + "end") == "x" * 1500 + " ... " + "x" * 497 + "end"
    assert cut("a" * 200, 8) == "aaaaaa ... aa"


def test_a_line_ends_before_a_number_with_its_measure_word() -> None:
    assert [*wrapped("未结束的请求：1 个", 17)] == ["未结束的请求：", "1 个"]
    assert [*wrapped("请看源文件第 4 行。", 14)] == ["请看源文件", "第 4 行。"]


def test_a_translation_that_waits_for_its_translator_is_not_printed() -> None:
    """It is that of an older sentence, and may say the opposite of the new one."""
    entries = 'msgid "raise"\nmsgstr "抛出"\n\n#, fuzzy\nmsgid "return"\nmsgstr "不返回"\n'
    assert read_catalog(entries) == {"raise": "抛出"}
