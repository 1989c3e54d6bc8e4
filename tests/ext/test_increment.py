"""What a build does again."""

import json
from pathlib import Path

import pytest
from docutils import nodes

from lifespec_docs import increment
from lifespec_docs.examples.directive import pages as pages_of
from lifespec_docs.i18n import extraction
from sample_site import SampleSite

BLOCK = "```python\nprint(1)\n```\n```{output}\n1\n```\n"
PAGES = {
    "index": "# Home\n\n```{shown} beside.toml\n```\n",
    "other": f"# Other\n\n{BLOCK}",
    "beside.toml": "a = 1\n",
}
EXTENSIONS = (
    *("i18n.comments", "examples.directive", "examples.included", "rules.domain"),
    "lifespec_docs.increment",
)


def site(folder: Path, pages: dict[str, str] = PAGES, **configuration: str) -> SampleSite:
    """Return pages that follow their build; what was built stays."""
    return SampleSite(folder, pages, *EXTENSIONS, **configuration)


def told(sample: SampleSite) -> dict[str, object]:
    """Give what the build wrote of itself."""
    found: dict[str, object] = json.loads(Path(sample.app.doctreedir, increment.DONE).read_text())
    return found


def again(sample: SampleSite, *changed: str) -> dict[str, object]:
    """Build again, told of what has changed."""
    Path(sample.app.doctreedir, increment.CHANGED).write_text(json.dumps(changed))
    sample.app.env.config_status = 1  # as it was
    sample.app.build()
    return told(sample)


def test_a_page_is_read_again_where_something_that_it_uses_has_changed(tmp_path: Path) -> None:
    """Itself, a file that it shows, its catalog: whatever their times are."""
    sample = site(tmp_path, language="zh_CN")
    sample.translate("other", {"Other": "另一页"})
    with sample:
        assert sorted(sample.app.env.found_docs) == ["index", "other"]
        assert told(sample)["read"] == ["index", "other"]
        assert again(sample)["read"] == []
        assert again(sample, "docs/other.md")["read"] == ["other"]
        assert again(sample, "docs/beside.toml")["read"] == ["index"]
        assert again(sample, "docs/gone.md")["read"] == []
        assert again(sample, "locales/zh_CN/LC_MESSAGES/other.po")["read"] == ["other"]


def test_a_page_that_lacked_a_program_is_read_again(tmp_path: Path) -> None:
    page = f"# Other\n\n{{.real .needs-no-such-program}}\n{BLOCK}"
    with site(tmp_path, PAGES | {"other": page}) as sample:
        assert again(sample)["read"] == ["other"]


@pytest.mark.parametrize(
    ("language", "order"), [("en", ["index", "other"]), ("zh_CN", ["other", "index"])]
)
def test_the_languages_begin_at_both_ends(tmp_path: Path, language: str, order: list[str]) -> None:
    """Each runs the examples of the pages that it meets first."""
    seen: list[str] = []
    sample = site(tmp_path, language=language)
    (sample.docs / "conf.py").write_text("def setup(app): pass\n")
    build = increment.Increment()
    with sample:
        seen = ["index", "other"]
        build.order(sample.app, sample.app.env, seen)
    assert (seen, build.read) == (order, ["index", "other"])


@pytest.mark.parametrize("changed", ["title", "place", "example", "case", "gone"])
def test_all_pages_are_written_where_they_show_what_has_changed(
    tmp_path: Path, changed: str
) -> None:
    """They show titles in the navigation and link to places; else only those that were read are."""
    with site(tmp_path) as sample:
        env, build = sample.app.env, increment.Increment()
        places = env.domains["lifespec"].data["places"]
        places["case", "waits"] = ("other", "case-waits")
        build.outdated(sample.app, env, set(), set(), set())
        build.read = ["other"]
        places["case", "new"] = ("other", "case-new")
        assert build.updated(sample.app, env) == ()
        if changed == "title":
            env.titles["other"] = nodes.title("", "Another")
        elif changed == "place":
            env.domains["std"].data["labels"]["here"] = ("other", "here", "Here")
        elif changed == "example":
            pages_of(env)["other"].blocks.clear()
        elif changed == "case":
            del places["case", "waits"]
        else:
            build.removed = {"gone"}
        assert build.updated(sample.app, env) == {"index", "other"}


def test_what_there_is_to_translate_is_known_after_each_build(tmp_path: Path) -> None:
    with site(tmp_path) as sample:
        file = Path(sample.app.doctreedir, increment.MESSAGES)
        first = extraction.read(file)
        file.unlink()
        again(sample, "docs/other.md")
        assert extraction.read(file) == first
        assert first == extraction.updated(sample.app.env, sample.app.env.found_docs)
        (message,) = first.by_catalog["other"].messages
        assert (message.text, message.kind) == ("Other", "title")
