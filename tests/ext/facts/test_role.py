"""The role `{fact}` on a page."""

from pathlib import Path

import pytest

from lifespec_docs.facts import role
from lifespec_docs.facts.known import facts
from lifespec_docs.lint.translations import Pair, sentences
from sample_site import SampleSite


def test_a_fact_that_is_not_known(tmp_path: Path) -> None:
    """The warning has file and line, and the names that are most like it."""
    page = "# A\n\n{fact}`default Lifespan.graze`\n\n{fact}`zzzzzzzzzzz`\n"
    with SampleSite(tmp_path, {"index": page}, "facts") as built:
        first, second = built.warnings
        assert first.startswith(
            "docs/index.md:3: WARNING: There is no fact 'default Lifespan.graze': "
            "did you mean {fact}`default Lifespan.grace`"
        )
        assert second == (
            "docs/index.md:5: WARNING: There is no fact 'zzzzzzzzzzz': "
            "`python docs/facts.py` lists them."
        )


def test_the_catalogs_know_how_a_fact_is_set() -> None:
    """A unit is Chinese, and needs no space after it; code and numbers need one."""
    grace, version = "{fact}`default Lifespan.grace`", "{fact}`version uvicorn`"

    def told(english: str, chinese: str) -> list[str]:
        return list(sentences(Pair("a.po", 1, english, chinese)))

    assert not told(f"It ends {grace} later.", f"它在 {grace}后结束。")
    assert not told(f"It is {version} now.", f"现在是 {version} 版。")
    assert told(f"It is {version} now.", f"现在是 {version}版。")
    assert told(f"It ends {grace} later.", f"它在{grace}后结束。")
    assert told(f"It ends {grace} later.", "它在 5 秒后结束。")


def test_the_date_of_an_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has changed since is said beside it."""
    page = "# A\n\nMeasured on {fact}`date bench`.\n"
    monkeypatch.setattr(role, "ROOT", tmp_path)  # here is no record: nothing is what it was
    with SampleSite(tmp_path, {"index": page}, "facts") as built:
        text = built.page().get_text()
        date = facts()["date bench"].words[0]
        assert f"Measured on {date} (before the last change of server.py, validate.py" in text
