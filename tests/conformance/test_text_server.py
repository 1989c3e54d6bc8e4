"""A report about a server, as a reader sees it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from lifespec.conformance.text.words import SENTENCES

from lifespec.conformance.report import Fact, Finding, Report, Row, Verdict, fact
from lifespec.conformance.server import check
from lifespec.conformance.text import Words, render
from lifespec.conformance.words import translator
from lifespec.testing.trace import Entry

__all__: list[str] = []

FOLDER = Path(check.__file__).parent
END = fact("ended-after", way=fact("ended-with-status", status=3), seconds=0.2)
ENTRIES = (Entry(0.0, "called", "lifespan", ""), Entry(0.1, "received", "lifespan.startup", ""))


def finding(verdict: Verdict, rule: str, observed: Fact, case: str = "well-behaved") -> Finding:
    return Finding(verdict, rule, case, observed, "served", "", ENTRIES)


def report(*findings: Finding, **facts: object) -> Report:
    return Report("serve {app}", "asgi 2.0", findings, role="server", **facts)  # type: ignore[arg-type]


def test_a_faultless_server_has_a_line_for_each_rule() -> None:
    """What no specification asks for is counted, and shown in full with --verbose only."""
    served, once = fact("served"), fact("shutdown-once", end=END)
    found = report(
        finding(Verdict.PASS, "unsupported-by-raising", served),
        finding(Verdict.INFO, "unsupported-logged", fact("not-in-output")),
        finding(Verdict.PASS, "shutdown-sent", once),
        finding(Verdict.INFO, "shutdown-sent", once, "interrupted"),
        rows=(Row("left out", fact("slow-cases", count=2)),),
    )
    assert str(found) == (
        "serve {app} keeps lifespan 2.0 (ASGI)\n"
        "left out   2 slow cases, of 30 to 60 s (--slow)\n"
        "rules      3 rules: 2 kept, 1 not specified\n"
        "           2 show something that the specification leaves open (--verbose)\n"
        "\n"
        "PASS  unsupported-by-raising  well-behaved\n"
        "INFO  unsupported-logged      well-behaved\n"
        "PASS  shutdown-sent           well-behaved\n"
    )
    shown = render(found, verbose=True)
    assert "requirement" not in shown.partition("INFO unsupported-logged")[2].partition("\n\n")[0]
    assert "specified   not specified. lifespec: `Lifespan` logs at level `info` that" in shown
    assert "specified   lifespan 2.0 (ASGI) does not specify this case." in shown
    assert "|-- lifespan.startup ------" in shown
    assert "Shutdown came once; the process ended with status 3 after 0.2 s." in shown


def test_a_broken_rule_is_a_block_with_a_hint() -> None:
    remained = fact("remained", seconds=10.0)
    found = report(
        finding(Verdict.FAIL, "unsupported-by-raising", fact("not-served-waits", end=remained)),
        finding(Verdict.WARN, "startup-failed-exits", fact("end", end=END)),
        finding(Verdict.SKIP, "state-untouched", fact("no-state")),
    )
    shown = str(found)
    assert shown.startswith(
        "serve {app} does not keep lifespan 2.0 (ASGI)\n"
        "rules   3 rules: 1 broken, 1 missed, 1 not judged\n"
        "        state-untouched: The server provides no state.\n"
    )
    block = " ".join(shown.partition("FAIL unsupported-by-raising")[2].split())
    assert "actual It was not served; the process was still there 10 s later." in block
    assert "hint The server waits for the answer alone." in block  # the one that was observed
    assert "The process ended with status 3 after 0.2 s." in shown


def test_what_could_not_be_checked_has_no_table() -> None:
    why = fact("no-lifespan")
    found = report(finding(Verdict.SKIP, "startup-sent", why), obstacle=why)
    assert str(found) == (
        "serve {app} could not be checked against lifespan 2.0 (ASGI)\n"
        "The server calls the application with no lifespan scope: no lifespan took place.\n"
    )


def kinds() -> Iterator[tuple[str, str]]:
    """Yield each kind of fact of the server half, and where it is."""
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", "")
                at = {"_held": 1, "_outcome": 1}.get(name, 0)
                if name in ("fact", "_held", "_outcome", "_broken", "NotJudged", "Unusable"):
                    kind = node.args[at]
                    if isinstance(kind, ast.Constant):
                        yield kind.value, f"{path.name}:{node.lineno}"


def test_each_kind_of_fact_has_a_sentence_in_both_languages() -> None:
    translate, found = translator("zh"), dict(kinds())
    assert len(found) > 60
    for kind, place in found.items():
        assert kind in SENTENCES, f"{place}: text/server.py has no sentence of {kind}"
        english = SENTENCES[kind]
        assert translate(english) != english or "{" in english, f"report.zh.po lacks: {english}"


@pytest.mark.parametrize(
    ("observed", "sentence"),
    [
        (fact("end", end=END), "进程以退出码 3 结束（0.2 秒后）。"),
        (fact("not-served", end=END), "服务器没有处理请求；进程以退出码 3 结束（0.2 秒后）。"),
        (fact("events", events=("a", "b")), "事件依次为：a、b。"),
    ],
)
def test_a_sentence_is_chinese_to_the_last_word(observed: Fact, sentence: str) -> None:
    assert Words("zh").say(observed) == sentence
