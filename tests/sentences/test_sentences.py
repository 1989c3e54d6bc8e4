"""Every sentence became a rule, every rule has its sentences; and how the command tells."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sentences
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS

TEXTS = sentences.listed()
# Which texts lack what a rule is about; from all others each rule has a source, or is ours there.
FAILURES = {
    "startup-failed-never-serves",
    "startup-failed-shown",
    "startup-failed-exits",
    "failed-message-default",
    "failed-to-prevent-start",
    "only-failed-stops",
    "shutdown-failed-shown",
    "shutdown-failed-ends",
    "message-is-text",
}
STATE = {
    "scope-state",
    "state-starts-empty",
    "state-shallow-copy",
    "state-untouched",
    "state-may-be-missing",
    "state-keys-text",
    "state-keys-named-well",
    "state-shared-by-value",
}
# AMGI has no defaults: its versions are always there, and so is the message of a failure.
REQUIRED = {"version-default", "spec-version-default", "failed-message-default"}
ABSENT = {
    "asgi 1.0": FAILURES | STATE | {"scope-worker", "scope-versions", "spec-version-default"},
    "asgi 2.0": {"scope-worker"},
    "amgi 1.0": {"scope-worker"} | REQUIRED,
    "amgi 2.0": {"scope-worker"} | REQUIRED,
    "pagi 0.3": {"version-default"},
}


def rows(text: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return what is listed of a text by section and place."""
    return {(row["section"], row["ordinal"]): row for row in text["sentences"]}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["file"])
def test_every_sentence_has_its_rules_or_a_reason(text: dict[str, Any]) -> None:
    """A sentence is listed once, in a section of its text, with rules that there are."""
    assert set(text) - {"core", "translates", "completes"} == {
        *("name", "file", "specs", "sections", "sentences")
    }
    assert set(text["specs"]) <= set(SPECS)
    names = [section["name"] for section in text["sections"]]
    assert len(set(names)) == len(names)
    assert len(rows(text)) == len(text["sentences"]) > 0
    for row in text["sentences"]:
        assert set(row) <= {"section", "ordinal", "hash", "rule_ids", "plain", "follows"}
        assert row["section"] in names
        assert re.fullmatch("[0-9a-f]{16}", row["hash"])
        assert row.get("rule_ids") or row["plain"].endswith(".")
        assert ("rule_ids" in row) != ("plain" in row)
        unknown = {*row.get("rule_ids", [])} - {*rules()}
        assert not unknown, f"rules.toml has no {unknown}, which {sentences.LIST.name} names"


def test_the_texts_of_all_specifications_and_the_core_texts_are_listed() -> None:
    """Each specification has a text of its own; those of ASGI and PAGI lean on core texts."""
    own = [
        each
        for text in TEXTS
        if not set(text) & {"core", "translates", "completes"}
        for each in text["specs"]
    ]
    advice = f"{sentences.LIST} needs one [[text]] for each specification of SPECS"
    assert sorted(own) == sorted(SPECS), advice
    core = {each for text in TEXTS if text.get("core") for each in text["specs"]}
    assert core == {"asgi 1.0", "asgi 2.0", "pagi 0.3"}


def test_every_section_of_a_rule_is_that_of_its_sentences() -> None:
    """A rule has a source for each section in which a sentence became it, and no other source."""
    book = rules()
    said = {
        (spec, "core" if text.get("core") else "", row["section"], rule_id)
        for text in TEXTS
        if "translates" not in text
        for row in text["sentences"]
        if "follows" not in row
        for rule_id in row.get("rule_ids", [])
        for spec in text["specs"]
        if spec in book[rule_id].specs
    }
    sourced = {
        (spec, source.text, source.section, rule_id)
        for rule_id, rule in book.items()
        for source in rule.sources
        for spec in source.specs
    }
    follow = {each for each in sourced if each[1] == "asgi"}
    unlisted = [
        f"{sentences.place(rule_id)}: {sentences.LIST.name} lists no sentence of {spec}, section "
        f"{section!r}, that became {rule_id!r}"
        for spec, _, section, rule_id in sourced - follow - said
    ]
    assert not unlisted, "\n".join(unlisted)
    unsourced = [
        f"{sentences.place(rule_id)}: {rule_id!r} has no source in {spec}, section {section!r}, "
        f"though {sentences.LIST.name} has a sentence there that became it"
        for spec, _, section, rule_id in said - sourced
    ]
    assert not unsourced, "\n".join(unsourced)
    assert {("asgi 2.0", "", section, rule_id) for _, _, section, rule_id in follow} <= said


def test_who_follows_another_text_says_so() -> None:
    """The rules that AMGI takes over from lifespan 2.0 are those of the sentence that says so."""
    followed = {
        (spec, row["follows"], rule_id)
        for text in TEXTS
        for row in text["sentences"]
        if "follows" in row
        for rule_id in row["rule_ids"]
        for spec in text["specs"]
    }
    assert followed == {
        (spec, "asgi 2.0", rule_id)
        for rule_id, rule in rules().items()
        for source in rule.sources
        if source.text == "asgi"
        for spec in source.specs
    }


# PAGI's main specification words a rule once more, more weakly.
TWO_LEVELS = {("pagi 0.3", "unknown-scope-rejected")}


def test_a_text_has_a_rule_at_one_level() -> None:
    """Whichever of its sections says so; and who follows another text follows it in that."""
    levels: dict[tuple[str, str], set[str]] = {}
    for rule_id, rule in rules().items():
        for source in rule.sources:
            follows = ["asgi 2.0"] if source.text == "asgi" else []
            for spec in [*source.specs, *follows]:
                levels.setdefault((spec, rule_id), set()).add(source.level)
    two = {place for place, found in levels.items() if len(found) > 1}
    assert two == TWO_LEVELS, "give each a single level in rules.toml, or name it in TWO_LEVELS"


@pytest.mark.parametrize("spec", SPECS)
def test_every_rule_has_a_source_or_is_ours(spec: str) -> None:
    """A text has every rule but those that are about what it lacks."""
    absent = {rule_id for rule_id, rule in rules().items() if spec not in rule.specs}
    advice = "give the rule a source or `ours` for it in rules.toml, or name the rule in ABSENT"
    assert absent == ABSENT.get(spec, set()), (
        f"{spec} differs in {absent ^ ABSENT.get(spec, set())}: {advice}"
    )


@pytest.mark.parametrize(
    "text", [text for text in TEXTS if "translates" in text], ids=lambda text: text["file"]
)
def test_a_translation_became_the_same_rules(text: dict[str, Any]) -> None:
    """Each sentence stands in the same place as the original's, and became the same rules."""
    (original,) = (each for each in TEXTS if each["file"] == text["translates"])
    assert [section["name"] for section in text["sections"]] == [
        section["name"] for section in original["sections"]
    ]
    ruled, expected = (
        {place: row["rule_ids"] for place, row in rows(each).items() if "rule_ids" in row}
        for each in (text, original)
    )
    assert ruled == expected


TEXT = """\
Preface: a server must wait.

Scope
=====

The server must wait::

    it must = not  # code

It may go on, e.g. Later. *It* waits.

* ``type`` -- will
  be sent.
-
```
must
```
Shutdown - end
It is over.
"""
SECTIONS = [{"name": "Scope", "begins": "Scope"}, {"name": "End", "begins": "Shutdown"}]


def test_sentences_of_a_section() -> None:
    assert [tuple(each) for each in sentences.sentences(TEXT, SECTIONS)] == [
        ("Scope", 1, 6, "The server must wait::"),
        ("Scope", 2, 10, "It may go on, e.g. Later."),
        ("Scope", 3, 10, "*It* waits."),
        ("Scope", 4, 12, "``type`` -- will be sent."),
        ("End", 1, 18, "Shutdown - end It is over."),
    ]


def test_sentences_in_chinese() -> None:
    """They end with a full stop of their own, without a space."""
    section = [{"name": "Scope", "begins": "### 范围"}]
    found = sentences.sentences("### 范围\n服务器必须等待。应用程序\n可以返回。\n", section)
    assert [each.words for each in found] == ["服务器必须等待。", "应用程序 可以返回。"]


def test_a_note_is_no_code() -> None:
    """What stands below a directive belongs to the text; what is preformatted may have duties."""
    section = [{"name": "A", "begins": "A"}]
    found = sentences.sentences("A\n.. note::\n\n    It must be.\n\n  # it MUST be too\n", section)
    assert [each.words for each in found][1:] == ["It must be.", "# it MUST be too"]


def a_list(**more: Any) -> dict[str, Any]:
    """Return what is listed of TEXT, without a fault."""
    found = {
        (each.section, each.ordinal): each.hash for each in sentences.sentences(TEXT, SECTIONS)
    }
    places = [("Scope", 1), ("Scope", 2), ("Scope", 4)]
    listed = [{"section": name, "ordinal": n, "hash": found[name, n]} for name, n in places]
    return {"file": "a.txt", "sections": SECTIONS, "sentences": listed, **more}


def test_a_text_as_it_is_listed() -> None:
    """Only what lays a duty on somebody has to be listed."""
    assert list(sentences.faults(a_list(), TEXT)) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("may go", "can go", "a.txt:10: Scope, sentence 2, is listed as "),
        ("*It* waits", "It should", "a.txt:10: Scope, sentence 3, says “should”, has "),
        ("It is", "It shall be", "a.txt:18: End, sentence 1, says “shall”, has "),
        ("must\n```\n", "```\n服务器应等待。\n\n", "a.txt:17: Scope, sentence 5, says “应”, has "),
        ("Shutdown - end", "Stop", "a.txt:1: no section begins with “Shutdown”"),
        (
            "* ``type`` -- will\n  be sent.\n",
            "",
            "a.txt:1: Scope has no sentence 4, which is listed",
        ),
    ],
)
def test_a_text_that_differs(old: str, new: str, told: str) -> None:
    assert old in TEXT
    (fault,) = sentences.faults(a_list(), TEXT.replace(old, new))
    assert fault.startswith(told)


def test_a_section_that_is_plain() -> None:
    """No sentence of it has to be listed, and one that is listed is held to its hash."""
    plain = [{**SECTIONS[0], "plain": "An introduction."}, SECTIONS[1]]
    text = TEXT.replace("*It* waits", "It should")
    assert list(sentences.faults(a_list(sections=plain), text)) == []
    text = TEXT.replace("may go", "can go")
    assert len(list(sentences.faults(a_list(sections=plain), text))) == 1


def command(*folders: Path | str) -> subprocess.CompletedProcess[str]:
    file = Path(sentences.__file__)
    return subprocess.run(
        [sys.executable, file, *folders], capture_output=True, text=True, check=False
    )


def test_the_command_where_no_text_is(tmp_path: Path) -> None:
    """It says which texts it looked for, and that it did nothing."""
    for folders in ([], [tmp_path]):
        done = command(*folders)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("None of these texts is there: asgi-lifespan-1.0.txt, ")


def test_the_command_where_a_text_differs(tmp_path: Path) -> None:
    """Each fault is a line; then how many were held, and which texts were not there."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        content = f"Lifespan Protocol\n\nThe {name} must.\n"
        (tmp_path / name / "pagi-lifespan-0.3.txt").write_text(content)
    done = command(tmp_path / "empty", tmp_path / "first", tmp_path / "second")
    assert (done.returncode, done.stderr) == (1, "")
    first, *_, held, absent = done.stdout.splitlines()
    assert first.startswith("pagi-lifespan-0.3.txt:3: Lifespan Protocol, sentence 1, says “must”")
    assert first.endswith("not listed: The first must.")
    assert "The second" not in done.stdout  # the first folder that has a text counts
    assert held.endswith(" sentences of the list were held against their texts.")
    assert absent.startswith("Texts that were not there: asgi-lifespan-1.0.txt, ")
