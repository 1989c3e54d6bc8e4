"""The table [tool.lifespec] of pyproject.toml."""

import re
from pathlib import Path

import pytest

from lifespec.conformance import settings
from lifespec.conformance.unchecked import Unchecked

__all__: list[str] = []


def written(folder: Path, text: str) -> Path:
    """Write a pyproject.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_every_key(tmp_path: Path) -> None:
    """Each has a type of its own; one application is a list of one."""
    file = written(
        tmp_path,
        '[tool.lifespec]\napp = "shop:app"\nspec = "asgi"\nstrict = true\nfactory = false\n'
        'ignore = ["events-known"]\ntimeout = 3\nlanguage = "zh"\n',
    )
    found = settings.read(file)
    assert found == {
        "app": ["shop:app"],
        "spec": "asgi 2.0",
        "strict": True,
        "factory": False,
        "ignore": ["events-known"],
        "timeout": 3,
        "language": "zh",
    }
    assert found.keys() == settings.KEYS.keys()


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    """From a folder upwards; a file without the table is passed over."""
    written(tmp_path, '[tool.lifespec]\napp = ["a:a", "b:b"]\n')
    written(tmp_path / "one", "[project]\n")
    written(tmp_path / "two", "[tool.lifespec]\ntimeout = 2.5\n")
    assert settings.find(tmp_path / "one") == {"app": ["a:a", "b:b"]}
    assert settings.find(tmp_path / "two" / "deep") == {"timeout": 2.5}


@pytest.mark.parametrize(
    "content",
    [
        b"tool = 5  # tool.lifespec",
        b"[tool]\n",
        b"[project]\ndependencies = [",
        b'[project]\ndependencies = [\n  "lifespec>=1",\n',
        b"[project]\n# \xe4\n",
        b"a = " + b"[" * 100_000,
    ],
)
def test_a_file_that_is_others_to_judge(content: bytes, tmp_path: Path) -> None:
    """It has no table of ours, whatever else is wrong with it."""
    (tmp_path / "pyproject.toml").write_bytes(content)
    assert settings.read(tmp_path / "pyproject.toml") == {}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("strct = true", "has no key 'strct': did you mean strict?"),
        ("x = 1", "has no key 'x': its keys are app, spec, strict, factory, ignore, timeout, lang"),
        ("strict = 1", "strict = 1: give true or false"),
        ("timeout = true", "timeout = True: give a number of seconds"),
        ("timeout = '3'", "timeout = '3': give a number of seconds"),
        ("app = [1]", "app = [1]: give a string such as 'shop.main:app', or several in a list"),
        ("ignore = 'events-known'", "ignore = 'events-known': give a list of rule IDs"),
    ],
)
def test_what_it_may_not_have(line: str, sentence: str, tmp_path: Path) -> None:
    """One sentence with the file, the key, and what to give."""
    file = written(tmp_path, f"[tool.lifespec]\n{line}\n")
    with pytest.raises(Unchecked, match=re.escape(f"{file}: [tool.lifespec] {sentence}")):
        settings.find(tmp_path)


@pytest.mark.parametrize("text", ["[[tool.lifespec]]", "[tool]\nlifespec = 5"])
def test_what_is_no_table(text: str, tmp_path: Path) -> None:
    """An array of tables, or a number."""
    with pytest.raises(Unchecked, match=r"tool\.lifespec is not a table: begin it with"):
        settings.read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"[tool.lifespec]\napp = \n", "line 2"),
        (b"[tool]\nlifespec = {\n", "line 2"),
        (b'[ tool . "lifespec" ]\n# \xe4\n', "can't decode byte 0xe4"),
    ],
)
def test_a_file_with_the_table_that_is_not_toml(content: bytes, where: str, tmp_path: Path) -> None:
    """The sentence says where."""
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content)
    with pytest.raises(Unchecked, match=rf"{re.escape(str(file))} is not TOML: .*{where}"):
        settings.read(file)
