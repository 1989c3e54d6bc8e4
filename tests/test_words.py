"""Each kind has a sentence in both languages, with the same parts."""

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
from lifespec.conformance import Fact
from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import fact
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
