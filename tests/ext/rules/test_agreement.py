"""The boxes of the rules against rules.toml: what was once turned round without a word is told."""

import tomllib
from pathlib import Path

import pytest

from lifespec_docs.rules.agreement import faults
from sample_site import SampleSite

__all__: list[str] = []

ROOT = Path(__file__).parents[3]
RULES = tomllib.loads((ROOT / "src/lifespec/conformance/data/rules.toml").read_text("utf-8"))
# Both languages were made to say this, and nothing noticed it.
BOTH = [
    (
        "startup-before-serving",
        "The server must send `lifespan.startup` after it accepts connections.",
        "服务器必须在接受连接之后发送 `lifespan.startup`。",
    ),
    (
        "failed-message-default",
        'The server must read a missing `message` as `"failed"`.',
        '若没有 `message`，服务器必须按 `"failed"` 处理。',
    ),
    (
        "startup-failed-never-serves",
        "After `lifespan.shutdown.failed`, the server must not process connections.",
        "收到 `lifespan.shutdown.failed` 之后，服务器不得处理连接。",
    ),
    (
        "startup-failed-exits",
        "After `lifespan.startup.failed`, the server should restart the application.",
        "收到 `lifespan.startup.failed` 之后，服务器应重启应用程序。",
    ),
]
# The Chinese alone: before and after, two clauses, two roles exchanged.
CHINESE = [
    (
        "shutdown-after-serving",
        "服务器必须在停止接受连接并关闭全部活动连接之后发送 `lifespan.shutdown`。",
        "服务器必须在停止接受连接并关闭全部活动连接之前发送 `lifespan.shutdown`。",
    ),
    (
        "wait-for-startup",
        "在处理连接之前，服务器必须一直等待，直到启动得到答复，或者应用程序已返回或抛出异常。",
        "在启动得到答复之前，或者应用程序已返回或抛出异常，服务器必须一直等待，直到处理连接。",
    ),
    (
        "failed-to-prevent-start",
        "应用程序若要阻止服务器启动，应发送 `lifespan.startup.failed`，不是抛出异常。",
        "服务器若要阻止应用程序启动，应发送 `lifespan.startup.failed`，不是抛出异常。",
    ),
]


def told(rule_id: str, text: str, *, chinese: bool) -> list[str]:
    """Return what is said of a text for the main box of a rule."""
    return list(faults(RULES[rule_id]["says"], text, chinese=chinese))


@pytest.mark.parametrize(("rule_id", "english", "chinese"), BOTH)
def test_a_rule_turned_round_in_both_languages(rule_id: str, english: str, chinese: str) -> None:
    """Each language is told, because the third text stays as it was."""
    assert told(rule_id, english, chinese=False)
    assert told(rule_id, chinese, chinese=True)
    assert not told(rule_id, RULES[rule_id]["says"], chinese=False)


@pytest.mark.parametrize(("rule_id", "right", "wrong"), CHINESE)
def test_a_rule_turned_round_in_chinese(rule_id: str, right: str, wrong: str) -> None:
    """The right one has no fault."""
    assert not told(rule_id, right, chinese=True)
    assert told(rule_id, wrong, chinese=True)


SAYS = "Before it stops, the server must not send `a`, and not `b`, to the application."
EQUAL = "在停止之前，服务器不得向应用程序发送 `a`，也不得发送 `b`。"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SAYS.replace("`a`, and not `b`", "`b`, and not `a`"), "the literals are a, b"),
        (SAYS.replace("server", "application"), "the roles are server, application"),
        (SAYS.replace("must", "should"), "the levels are must not"),
        (SAYS.replace("Before", "After"), "the words of order are before (stop)"),
        (SAYS.replace("stops", "starts"), "the words of order are before (stop)"),
        (SAYS.replace("send", "print"), "the terms are send, stop"),
        (SAYS.replace("and not", "and"), "the denials are 2"),
        (SAYS.replace("to the application", "for the application"), "its text lacks “to”"),
    ],
)
def test_what_is_compared_in_english(text: str, what: str) -> None:
    """Each fault says what differs; every word of the sentence is looked for in its place."""
    assert not list(faults(SAYS, SAYS, chinese=False))
    assert any(what in fault for fault in faults(SAYS, text, chinese=False))


def test_the_page_may_say_more() -> None:
    """Words that name nothing which is compared are free."""
    text = SAYS.replace("the server must", "a careful old server must").replace("a careful", "the")
    assert not list(faults(SAYS, text, chinese=False))


def test_what_is_compared_in_chinese() -> None:
    """The same, but for the words."""
    says = SAYS.replace(", and not `b`", "")
    equal = EQUAL.replace("，也不得发送 `b`", "")
    assert not list(faults(says, equal, chinese=True))
    for old, new in [
        ("`a`", "`b`"),
        ("服务器", "中间件"),
        ("不得", "必须"),
        ("之前", "之后"),
        ("停止", "启动"),
        ("发送", "打印"),
    ]:
        assert list(faults(says, equal.replace(old, new), chinese=True)), new


PAGE = (
    "# A\n\n```{rule} sent\nThe server must send `b`.\n```\n\n{rule}`sent`\n\n```python\n1\n```\n"
)
ROWS = """
[sent]
role = "server"
says = "The server must send `a`."
source = [{ specs = ["asgi 2.0"], level = "must", section = "S" }]
"""


def test_the_build_tells_it_with_file_and_line(tmp_path: Path) -> None:
    """It is a warning, and a warning ends the build of the site."""
    sample = SampleSite(
        tmp_path, {"index": PAGE}, "examples.directive", "rules.agreement", rules=ROWS
    )
    with sample as built:
        sentence = "says something else in rules.toml: there the literals are a, in its text b."
        assert built.warnings[0] == f"docs/index.md:3: WARNING: The rule 'sent' {sentence}"


def test_the_build_of_the_translation_tells_it_too(tmp_path: Path) -> None:
    """The Chinese is held against the English of the file."""
    page = PAGE.replace("`b`", "`a`")
    extensions = "examples.directive", "rules.agreement"
    sample = SampleSite(tmp_path, {"index": page}, *extensions, rules=ROWS, language="zh_CN")
    sample.translate("index", {"The server must send `a`.": "应用程序必须发送 `a`。"})
    with sample as built:
        sentence = "there the roles are server, in its text application."
        assert [line for line in built.warnings if line.endswith(sentence)]
