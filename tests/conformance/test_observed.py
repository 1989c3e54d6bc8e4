"""What the suite observed is told in the language of the page, where its pattern is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lifespec import cli
from lifespec.conformance.observed import ENDINGS, OBSERVED, translated
from lifespec.conformance.words import translator

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
WORDS = {
    "Shutdown came %s times; %s.": "关闭 %s 次；%s。",
    "the process ended with status %s after %s s": "状态 %s，%s 秒",
    "send has raised %s": "抛出 %s",
    "%s.": "%s。",
}


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("Shutdown came 0 times; the process ended with status 0 after 0.6 s.", None),
        ("Shutdown came 2 times; it hung.", "关闭 2 次；it hung。"),
        ("The process ended with status 70 after 1.5 s.", "状态 70，1.5 秒。"),
        ("send has raised OSError: 100 % of it", "抛出 OSError: 100 % of it"),
        ("Nobody knows.", ""),
        ("", ""),
    ],
)
def test_a_sentence_is_translated_with_what_it_names(sentence: str, shown: str | None) -> None:
    """Also where it ends with how the process did; what nobody knows is told as it is."""
    expected = "关闭 0 次；状态 0，0.6 秒。" if shown is None else shown
    assert translated(sentence, lambda word: WORDS.get(word, word)) == expected


@pytest.mark.parametrize("record", ["servers", "adapted", "drivers", "amgi", "pagi"])
def test_english_stays_as_it_is(record: str) -> None:
    """A sentence of our records follows its pattern, or none."""
    data = json.loads((ROOT / "docs" / "matrix" / f"{record}.json").read_text("utf-8"))
    findings = [each for subject in data["subjects"] for each in subject["findings"]]
    shown = {each["actual"] for each in findings if each["verdict"] != "pass"}
    assert shown
    assert {translated(each, str) or each for each in shown} == shown
    assert any(translated(each, str) for each in shown)


def test_patterns_are_sentences() -> None:
    """An ending is a part of one."""
    assert all(each.endswith((".", "%s")) for each in OBSERVED)
    assert not any(each.endswith(".") for each in ENDINGS)


MIDDLEWARE = """
def drops(app):
    async def call(scope, receive, send):
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
    return call

def answers(app):
    async def call(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
    return call

def raises(app):
    async def call(scope, receive, send):
        raise KeyError("path")
    return call

def guards(app):
    async def call(scope, receive, send):
        if scope["type"] == "http":
            raise PermissionError("no")
        await app(scope, receive, send)
    return call

def loses(app):
    async def call(scope, receive, send):
        async def lessened(event):
            await send({"type": event["type"]})
        await app({**scope, "state": {}, "asgi": {"version": "1.0"}}, receive, lessened)
    return call

def same(app):
    return app
"""


@pytest.mark.parametrize("name", ["drops", "answers", "raises", "guards", "loses", "same"])
def test_what_middleware_does_is_told_in_chinese(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each finding of the finished command, whatever its verdict is."""
    (tmp_path / "wrap.py").write_text(MIDDLEWARE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    command = ["check", "middleware", f"wrap:{name}", "--language", "zh", "--json", "found.json"]
    cli.main(command)
    findings = json.loads((tmp_path / "found.json").read_text("utf-8"))["findings"]
    known = translator("zh")
    assert [each["actual"] for each in findings if not _chinese(each["actual"], known)] == []
    assert "did not reach" not in capsys.readouterr().out


def _chinese(sentence: str, translate: Callable[[str], str]) -> bool:
    return any("\u4e00" <= each <= "\u9fff" for each in translated(sentence, translate))
