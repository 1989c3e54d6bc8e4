"""The rules of a build, as data."""

import json
from pathlib import Path

from lifespec_docs.rules.export import as_json, explained
from sample_site import RULES, SampleSite

__all__: list[str] = []

PAGE = """\
# Start {rule}`startup-sent`

```{rule} startup-sent
The *server*
sends `"a b"`.

It waits.
```

```{behaviour} answered-once
Once.
```

{rule}`startup-sent`, {rule}`answered-once`

```python
1
```

## Another title
"""
HINT = ("", "Fix", "Send it.")
ORDER = ["answered-once", "no-page", "startup-sent"]


def test_a_rule_of_a_page(tmp_path: Path) -> None:
    """Role, level, text with its literals, the five texts, the page's title and the address."""
    pages = {"index": "# Home\n", "deep/start": PAGE}
    with SampleSite(tmp_path, pages, "examples.directive", "rules.domain") as built:
        found = explained(Path(built.app.doctreedir), ORDER, {"startup-sent": [HINT]})
        assert list(found) == ["answered-once", "startup-sent"]
        assert found["startup-sent"] == {
            "role": "server",
            "level": "must",
            "text": 'The server sends `"a b"`.\nIt waits.',
            "more": [],
            "texts": [
                ["lifespan 1.0 (ASGI)", "", ""],
                ["lifespan 2.0 (ASGI)", "must", "“Startup”"],
                ["AMGI 1.0", "", ""],
                ["AMGI 2.0", "", ""],
                ["PAGI 0.3", "", ""],
            ],
            "page": "Start `startup-sent`",
            "address": "deep/start.html#startup-sent",
            "hints": [["", "Fix", "Send it."]],
        }
        assert found["answered-once"]["hints"] == []
        assert json.loads(as_json(found)) == found


def test_a_rule_in_chinese(tmp_path: Path) -> None:
    """What a translation says is what is found; a character of its own stands for itself."""
    built = SampleSite(
        tmp_path, {"index": PAGE}, "examples.directive", "rules.domain", language="zh_CN"
    )
    built.translate("index", {"Once.": "一次。"})
    built.translate("lifespec", {"lifespec's behaviour": "lifespec 的做法"})
    with built:
        found = explained(Path(built.app.doctreedir), ["answered-once"], {})
        rule = found["answered-once"]
        assert (rule["text"], rule["level"]) == ("一次。", "lifespec 的做法")
        assert "一次。" in as_json(found)


def test_a_page_without_a_title(tmp_path: Path) -> None:
    """Its title is empty."""
    page = "```{behaviour} answered-once\nOnce.\n```\n"
    with SampleSite(
        tmp_path, {"index": page}, "examples.directive", "rules.domain", rules=RULES
    ) as built:
        (rule,) = explained(Path(built.app.doctreedir), ORDER, {}).values()
        assert rule["page"] == ""
