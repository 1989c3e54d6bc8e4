"""The names in literals: what there is passes, and what there is not is told with the nearest."""

from pathlib import Path

import pytest

from lifespec_docs.facts import checks, names
from lifespec_docs.facts.names import Names, Unknown, words

ROOT = Path(__file__).parents[3]
KNOWN = names.names()


@pytest.mark.parametrize(
    ("literal", "kind", "name", "like"),
    [
        ("lifespan.startup.compleet", "event", "lifespan.startup.compleet", "startup.complete"),
        ("lifespan.with_stat(scope)", "event", "lifespan.with_stat", ""),
        ('scope["states"]', "key", "states", "state"),
        ("scope['spec_versoin']", "key", "spec_versoin", "spec_version"),
        ("startup_timeot=5", "name", "startup_timeot", "startup_timeout"),
        ("LifespanManger", "name", "LifespanManger", "LifespanManager"),
        ("with_state(scope, 3)", "call", "with_state(scope, 3)", "(scope: "),
        ("report(error, sentence, level)", "call", "report(error, sentence, level)", "level"),
        ("running.report(scope=3)", "call", "running.report(scope=3)", "level"),
        ("--strickt", "option", "--strickt", "--strict"),
        ("lifespec check app --brocker redis", "option", "--brocker", ""),
        ("lifespec try app", "command", "try", ""),
        ("lifespec check application", "command", "check application", ""),
        ("make doc", "target of make", "doc", "docs"),
        ("LC_MESAGES", "environment variable", "LC_MESAGES", "LC_MESSAGES"),
        ("startup-sentt", "rule, case or package", "startup-sentt", "startup-sent"),
        ("ruls.toml", "file", "ruls.toml", "rules.toml"),
        ("src/lifespec/servr.py", "path", "src/lifespec/servr.py", "server.py"),
        ("conformance/data/none.toml", "path", "conformance/data/none.toml", ""),
        ("build/nowhere", "folder", "nowhere", ""),
        ("site/html/index.html", "page of the site", "site/html/index.html", ""),
        ("site/en/nowhere.html", "page of the site", "site/en/nowhere.html", ""),
    ],
)  # fmt: skip
def test_what_there_is_not(literal: str, kind: str, name: str, like: str) -> None:
    """The kind, the name, and what is most like it."""
    (found,) = KNOWN.faults(literal)
    assert (found.kind, found.name) == (kind, name)
    assert like in " ".join(found.like)


def test_an_outcome_is_named_as_one() -> None:
    """A single word is looked up where the sentence says what it is."""
    assert not KNOWN.faults("unsupported", before="the outcome is ")
    (found,) = KNOWN.faults("unsuported", before="with the outcome ")
    assert str(found) == "There is no outcome 'unsuported': did you mean unsupported?"
    assert not KNOWN.faults("unsuported", before="the word ")


def test_what_the_page_defines() -> None:
    """Its code may define a name, an option, an event or a file."""
    own = words("my_pool = 1  # --with-app lifespan.unheard market.py")
    for literal in ("my_pool", "--with-app", "lifespan.unheard", "market.py"):
        assert KNOWN.faults(literal, own) == []
        assert KNOWN.faults(literal) != []
    assert str(Unknown("name", "a_b")) == "There is no name 'a_b'."


def test_a_docstring_does_not_make_its_own_names(tmp_path: Path) -> None:
    """Names are known from code, not from what is said about it."""
    (tmp_path / "src/lifespec").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", ".gitignore"):
        (tmp_path / name).touch()
    for name in (".ci", "docs/matrix"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src/lifespec/server.py").write_text(
        '"""Has `is_said`."""\nIS_MADE = {"is_text": 1}\n'
    )
    known = Names(tmp_path)
    assert [each.name for each in known.faults("is_said is_text")] == ["is_said"]
    assert not known.faults("IS_MADE")
    assert known.faults("IS_SAID")


def test_a_block_for_the_shell() -> None:
    """Each line is a command."""
    found = KNOWN.of_shell("make docs\nlifespec explain startup-sent\nmake dogs  # no\n")
    assert [each.name for each in found] == ["dogs"]


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: path.stem)
def test_docstrings(path: Path) -> None:
    """They name what there is, and the numbers that they type are true."""
    file = path.relative_to(ROOT).as_posix()
    found = checks.excused(file, checks.in_docstrings(path.read_text("utf-8")))
    told = [f"{file}:{each.place}: {each.sentence}" for each in found if not each.true]
    assert not told, "\n".join(told)
