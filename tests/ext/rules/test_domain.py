"""Rules on pages: what stands around them, what leads to them, what they promise."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.rules import domain
from lifespec_docs.rules.rulebook import RulebookError
from trial import RULES, Trial

__all__: list[str] = []

EXAMPLE = "\n```python\n1\n```\n"


TEXTS = {"startup-sent": "It must be sent.", "answered-once": "It must not be sent twice."}


def rule(slug: str, text: str = "") -> str:
    """Write a rule."""
    return f"\n:::{{rule}} {slug}\n{text or TEXTS.get(slug, 'A sentence.')}\n:::\n"


PAGE = "# Startup\n" + rule("startup-sent") + EXAMPLE + rule("answered-once") + EXAMPLE


def trial(folder: Path, pages: dict[str, str], **options: Any) -> Trial:
    """Return pages with rules."""
    return Trial(folder, pages, "examples.directive", "rules.domain", **options)


def test_the_heading_of_a_rule_is_drawn_from_the_file(tmp_path: Path) -> None:
    """Slug, party and level stand above the text, the source below it."""
    with trial(tmp_path, {"index": PAGE}) as built:
        box = built.page().find(id="startup-sent")
        lines = [p.get_text(" ", strip=True) for p in box.find_all("p")]
        assert lines == [
            "startup-sent server must",
            "It must be sent.",
            "Source: lifespan 2.0 (ASGI), “Startup”",
            "Not in lifespan 1.0 (ASGI), AMGI 1.0 and 2.0, PAGI 0.3",
        ]
        assert not built.warnings


def test_the_slug_is_a_permalink(tmp_path: Path) -> None:
    """It is a literal that links to its own rule."""
    with trial(tmp_path, {"index": PAGE}) as built:
        assert built.page().find("a", href="#startup-sent").code.string == "startup-sent"


def test_a_rule_of_ours_says_so(tmp_path: Path) -> None:
    """The level is marked, and the source says which text is silent."""
    with trial(tmp_path, {"index": PAGE}) as built:
        box = built.page().find(id="answered-once")
        assert box.find(class_="rule-level").string == "must not · ours"
        assert box.find(class_="rule-source").string == "Ours, where lifespan 2.0 (ASGI) is silent"
        assert box["class"] == ["rule", "must-not", "ours"]


def test_text_and_words_of_a_rule_are_translated(tmp_path: Path) -> None:
    """The body comes from the page's catalog, the rest from ours; the anchor stays."""
    built = trial(tmp_path, {"index": PAGE}, language="zh_CN")
    built.translate("index", {"It must be sent.": "必须发送。"})
    built.translate("lifespec", {"must": "必须", "server": "服务器"})
    with built:
        box = built.page().find(id="startup-sent")
        assert box.find(class_="rule-duty").get_text() == "服务器 必须"
        assert "必须发送。" in box.get_text()


def test_the_role_links_to_a_rule_on_another_page(tmp_path: Path) -> None:
    """Its text is the slug."""
    with trial(tmp_path, {"index": "# Home\n\n{rule}`startup-sent`\n", "startup": PAGE}) as built:
        link = built.page().find("a", href="startup.html#startup-sent")
        assert link.code.get_text() == "startup-sent"


@pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # MyST's own
@pytest.mark.parametrize("text", ["{any}`startup-sent`", "[](#startup-sent)"])
def test_a_link_without_a_role_finds_a_rule(tmp_path: Path, text: str) -> None:
    """A reference of any kind that names a slug leads to the rule."""
    with trial(tmp_path, {"index": f"# Home\n\n{text}\n", "startup": PAGE}) as built:
        assert built.page().find("a", href="startup.html#startup-sent")


def test_a_link_to_no_rule_is_a_warning(tmp_path: Path) -> None:
    """It names page and line."""
    pages = {"index": "# Home\n\n{rule}`no-such`, {any}`nor-such`\n", "startup": PAGE}
    with trial(tmp_path, pages, nitpicky=True) as built:
        assert [line[:23] for line in built.warnings] == ["docs/index.md:3: WARNIN"] * 2


def test_a_rule_that_the_file_does_not_have_is_a_warning(tmp_path: Path) -> None:
    """It names page and line, and nothing is shown."""
    with trial(tmp_path, {"index": PAGE + rule("no-such") + EXAMPLE}) as built:
        assert built.warnings == ["docs/index.md:19: WARNING: rules.toml has no rule 'no-such'."]
        assert not built.page().find(id="no-such")


def test_a_rule_described_twice_is_a_warning(tmp_path: Path) -> None:
    """It names the second place and the first page."""
    pages = {"index": PAGE, "other": "# Other\n" + rule("startup-sent") + EXAMPLE}
    with trial(tmp_path, pages) as built:
        assert built.warnings == [
            "docs/other.md:3: WARNING: The rule 'startup-sent' stands on page 'index' already."
        ]


def test_a_rule_without_a_page_is_a_warning(tmp_path: Path) -> None:
    """It names the rule's line in the file."""
    with trial(tmp_path, {"index": "# A\n" + rule("startup-sent") + EXAMPLE}) as built:
        assert built.warnings == [
            "docs/rules.toml:8: WARNING: No page has the rule 'answered-once'."
        ]


@pytest.mark.parametrize(
    "between",
    ["", "\n{.not-run}\n```python\n1\n```\n", "\n```sh\nls\n```\n", "\n## Next\n" + EXAMPLE],
)
def test_a_rule_that_no_example_follows_is_a_warning(tmp_path: Path, between: str) -> None:
    """Neither a block that does not run counts, nor one of the next section."""
    page = (
        f"# A\n\n## One\n{rule('startup-sent')}{between}\n## Two\n{rule('answered-once')}{EXAMPLE}"
    )
    with trial(tmp_path, {"index": page}) as built:
        assert built.warnings == [
            "docs/index.md:5: WARNING: No example follows the rule 'startup-sent'."
        ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It is sent.", "nothing"),
        ("It should be sent.", "should"),
        ("It must be sent, and should be heard.", "must, should"),
        ("The word `must` is code.", "nothing"),
    ],
)
def test_a_text_that_lays_another_duty_is_a_warning(tmp_path: Path, text: str, told: str) -> None:
    """The level of the file and the words of the box are one; what may be besides is allowed."""
    others = "# A\n" + rule("answered-once", "It must not. It may.") + EXAMPLE
    page = others + rule("startup-sent", text) + EXAMPLE
    with trial(tmp_path, {"index": page}) as built:
        sentence = "The rule 'startup-sent' is a “must” by rules.toml; what its text says is"
        assert built.warnings == [f"docs/index.md:11: WARNING: {sentence}: {told}."]


def test_a_duty_of_somebody_else_is_a_warning(tmp_path: Path) -> None:
    """Who owes it is whose rule it is, where the text names anybody."""
    texts = "The application must not.", "Where the server may, the application must."
    page = "# A\n" + rule("answered-once", texts[0]) + EXAMPLE
    page += rule("startup-sent", texts[1]) + EXAMPLE
    with trial(tmp_path, {"index": page}) as built:
        sentence = "is one of the server by rules.toml; its text lays a duty on the application."
        assert built.warnings == [
            f"docs/index.md:11: WARNING: The rule 'startup-sent' {sentence}",
        ]


def test_a_translation_that_lays_another_duty_is_a_warning(tmp_path: Path) -> None:
    """The Chinese is held against the file, too."""
    built = trial(tmp_path, {"index": PAGE}, language="zh_CN")
    built.translate("index", dict.fromkeys(TEXTS.values(), "应发送。"))
    with built:
        told = [line.partition("says is: ")[2] for line in built.warnings if "by rules" in line]
        assert told == ["should.", "should."]


def test_two_rules_do_not_share_an_example(tmp_path: Path) -> None:
    """The first of two rules on end has none."""
    page = "# A\n" + rule("startup-sent") + rule("answered-once") + EXAMPLE
    with trial(tmp_path, {"index": page}) as built:
        assert "No example follows the rule 'startup-sent'" in built.warnings[0]


def test_a_page_without_a_title_may_hold_a_rule(tmp_path: Path) -> None:
    """The document is its section."""
    page = rule("startup-sent") + EXAMPLE + rule("answered-once") + EXAMPLE
    with trial(tmp_path, {"index": page}) as built:
        assert not [line for line in built.warnings if "No example" in line]


def test_the_search_knows_each_rule(tmp_path: Path) -> None:
    """A rule is an object of the index, its type named in the page's language."""
    built = trial(tmp_path, {"index": PAGE}, language="zh_CN")
    built.translate("lifespec", {"rule": "规则"})
    with built:
        text = Path(built.app.outdir, "searchindex.js").read_text()
        assert '"startup-sent"' in text
        assert '["lifespec","rule","\\u89c4\\u5219"]' in text


def test_a_page_read_again_forgets_its_rules(tmp_path: Path) -> None:
    """A rule that was taken off a page is missing, one that stayed is no duplicate."""
    pages = {"index": PAGE, "other": "# Other\n"}
    with trial(tmp_path, pages, builder="dummy") as built:
        (built.docs / "index.md").write_text("# A\n" + rule("startup-sent") + EXAMPLE)
        built.app.build()
        assert built.warnings == [
            "docs/rules.toml:8: WARNING: No page has the rule 'answered-once'."
        ]


def test_what_another_process_read_is_merged(tmp_path: Path) -> None:
    """Only the pages it read are taken over."""
    with trial(tmp_path, {"index": PAGE}, builder="dummy") as built:
        domain = built.app.env.domains["lifespec"]
        domain.merge_domaindata({"far"}, {"rules": {"a": "far", "b": "near"}})
        assert domain.data["rules"]["a"] == "far"
        assert "b" not in domain.data["rules"]


def test_a_doctree_with_a_rule_can_be_pickled(tmp_path: Path) -> None:
    """Sphinx stores what it read."""
    with trial(tmp_path, {"index": PAGE}, builder="dummy") as built:
        again = pickle.loads(pickle.dumps(built.app.env.get_doctree("index")))
        assert [node["slug"] for node in again.findall(domain.rule_node)] == [
            "startup-sent",
            "answered-once",
        ]


def test_a_file_of_rules_that_does_not_parse_ends_the_build(tmp_path: Path) -> None:
    """The sentence names the file."""
    with (
        pytest.raises(RulebookError, match=r"rules\.toml"),
        trial(tmp_path, {"index": PAGE}, rules=RULES + "["),
    ):
        pass
