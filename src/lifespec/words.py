"""The words of reports and warnings: sentences, names, languages, and texts of others as parts.

`conformance/data/sentences.toml` has the sentence of each kind of fact, `Words` puts the parts into
it, and a terminal gets it in lines.  What is observed is data everywhere else.
"""

import functools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lifespec.catalog import FOLDERS, Translate, _, data, translator
from lifespec.diagnosis.fact import Fact
from lifespec.validate import SPECS

LONGEST_TEXT = 2000  # characters of a text of others in a report
_LEVEL = re.compile(r"\{[a-z ]+\}")  # in the sentence of a rule, such as {must not}


def base() -> str:
    """Return where the site is, with a slash: by LIFESPEC_BASE_URL or the package, or ""."""
    address = os.environ.get("LIFESPEC_BASE_URL", "") or _documentation()
    return f"{address.rstrip('/')}/" if address else ""


def _documentation() -> str:
    """Return the address that the installed package has for its documentation, or ""."""
    from importlib.metadata import distributions  # noqa: PLC0415  it imports much

    for distribution in distributions(name="lifespec"):
        for line in distribution.metadata.get_all("Project-URL") or ():
            label, _comma, url = line.partition(", ")
            if label == "Documentation":
                return str(url)
    return ""


def site(language: str) -> str:
    """Return where the pages of a language are, with a slash."""
    return f"{base()}{FOLDERS[language]}/"


# ---- sentences ---------------------------------------------------------------------------------


def names(
    specs: Sequence[str],
    translate: Translate,
    link: Callable[[str, str], str] = lambda _spec, version: version,
) -> str:
    """Name specifications as pages do: a family once, with its versions.

    `link` gets a key of SPECS and its version, and returns the text for that version.
    """
    if {*specs} == {*SPECS}:
        return translate(_("all specifications"))
    families: dict[str, list[str]] = {}
    for spec in specs:
        family, _space, version = spec.partition(" ")
        families.setdefault(family, []).append(link(spec, version))
    titles = []
    for family, versions in families.items():
        of_family = translate(_(" and ")).join(versions)
        if family == "asgi":  # whose lifespan has versions of its own
            titles.append(translate(_("lifespan %s (ASGI)")) % of_family)
        else:
            titles.append(f"{family.upper()} {of_family}")
    return translate(_(", ")).join(titles)


@functools.cache
def sentences() -> Mapping[str, str]:
    """Return the English sentence of each kind of fact."""
    tables = tomllib.loads(data("sentences.toml"))
    return {**tables["formats"], **tables["sentences"]}


def required(rule: str, translate: Translate) -> str:
    """Return what a rule requires, at its level in the main specification."""
    # not by `conformance.rules`: the fixture needs this sentence, and imports no suite
    row = tomllib.loads(data("rules.toml"))[rule]
    if "says" not in row:  # no specification states it: it is what lifespec does
        row = row["ours"]
    return _LEVEL.sub(lambda level: translate(level[0]).strip("{}"), translate(row["says"]))


def _has_first_word(fact: Fact) -> bool:
    """Tell whether a sentence begins with a word of its own and not with a text of others."""
    template = sentences()[fact.kind]
    if template[0] != "{":
        return True
    first = fact.parts.get(template[1:].partition("}")[0])
    return isinstance(first, Fact) and _has_first_word(first)


class Words:
    """The words of a report in one language, about one specification."""

    def __init__(self, language: str = "en", spec: str = "asgi 2.0") -> None:
        self.language = language
        self.spec = spec
        self.translate = translator(language)
        self.title = names([spec], self.translate)

    def say(self, fact: Fact) -> str:
        """Return the sentence of a fact."""
        template = sentences()[fact.kind]
        parts = {name: self.part(part) for name, part in fact.parts.items()}
        text = self.translate(template).format(**parts)
        if self.language != "en":  # Chinese has no capitals
            return text
        begins_with_a_part = template[0] == "{" and template[-1] == "."
        if begins_with_a_part and _has_first_word(fact):  # a text of others keeps its letters
            return f"{text[:1].upper()}{text[1:]}"
        return text

    def part(self, part: Any) -> str:
        """Return what stands in the place of a part: each character of it can be printed."""
        if isinstance(part, Fact):
            return self.say(part)
        if isinstance(part, tuple):
            return self.listed(map(self.part, part))
        text = f"{part:g}" if isinstance(part, float) else str(part)
        lines = ["".join(map(printable, line)) for line in text.split("\n")]
        return "\n".join(lines)

    def listed(self, items: Iterable[str]) -> str:
        """Return items with commas between them."""
        return self.translate(", ").join(items)


class Explained(Exception):
    """What has a fact as its reason: `fact` is the reason, and `str()` its sentence in English."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.fact = why

    def __str__(self) -> str:
        return english(self.fact).removesuffix(".")


def english(fact: Fact) -> str:
    """Return the English sentence of a fact."""
    return Words().say(fact)


# ---- lines of a terminal, and texts of others -------------------------------------------------


def printable(character: str) -> str:
    """Return a character, or an escape if it cannot be printed."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text; of a long one the beginning and, in a quarter of the room, the end."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} ... {text[-end:]}"


def short_repr(value: object) -> str:
    """Return the repr of a value, even if its own repr raises; cut if it is long."""
    try:
        return cut(repr(value))
    except Exception as error:
        return f"<{type(value).__name__}, whose repr() raises {type(error).__name__}>"
