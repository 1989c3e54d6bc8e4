"""Chinese search: what is indexed, and what a query asks for."""

import json
import re
from pathlib import Path

import pytest

from lifespec_docs.theme.search_zh import HAN, RUN, Bigrams
from sample_site import SampleSite

__all__: list[str] = []

PAGES = {
    "index": "# 启动\n\n服务器发送 `lifespan.startup`。应用程序答复。每个请求得到一份浅拷贝。\n",
    "other": "# 关闭\n\n服务器关闭连接池。The timeout is 10 s.\n",
}
QUERIES = ["服务器", "浅拷贝", "连接池", "池", "启动 lifespan", "timeout", "答复", "关闭连接"]


def asked(query: str) -> list[str]:
    """Cut a query as the JavaScript does: its two patterns are Python's own."""
    return [
        part
        for run in re.findall(RUN, query)
        for part in (
            [run[start : start + 2] for start in range(len(run) - 1)]
            if re.fullmatch(HAN, run) and len(run) > 1
            else [run]
        )
    ]


def test_chinese_is_indexed_by_pairs_and_single_characters() -> None:
    """Neighbours make a pair; a mark between them parts them."""
    assert Bigrams({}).split("浅拷贝。池") == ["浅拷", "拷贝", "浅", "拷", "贝", "池"]


def test_other_words_are_indexed_whole() -> None:
    """A dotted name is its parts."""
    assert Bigrams({}).split("发送 lifespan.startup") == ["发送", "发", "送", "lifespan", "startup"]


def test_the_javascript_reads_the_same_patterns() -> None:
    """One text defines what a word is, on both sides."""
    code = Bigrams.js_splitter_code
    assert f"text.match(/{RUN}/g)" in code
    assert f"/^{HAN}$/.test(text)" in code


@pytest.mark.parametrize("query", QUERIES)
def test_each_part_of_a_query_is_in_the_index(tmp_path: Path, query: str) -> None:
    """What the reader's side asks for, the builder's side has written."""
    with SampleSite(tmp_path, PAGES, "theme.search_zh", language="zh_CN") as sample:
        text = Path(sample.app.outdir, "searchindex.js").read_text()
        index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
        assert not set(asked(query)) - (index["terms"].keys() | index["titleterms"].keys())
