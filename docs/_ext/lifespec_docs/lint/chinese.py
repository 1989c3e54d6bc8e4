"""How Chinese is set: full-width marks, and a space where Chinese meets Latin text or code."""

import re
from collections.abc import Iterator

from lifespec_docs.lint.markup import CODE

__all__ = ["RULES", "faults", "is_chinese"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
MARKS = "，。；：？！、（）“”‘’《》…—"
PAUSES = MARKS[:7]
WORD = "A-Za-z0-9"
LATIN = f"{WORD}%{CODE}"
FULL = str.maketrans(",;:?!().", "，；：？！（）。")

# In a sentence, {0} is what was found, {1} the same in full width, {2} what stands twice.
RULES = (
    (
        rf"(?<![{WORD}])[,;:?!]|[,;:?!](?![{WORD}])|[()]",
        "the half-width {0} stands in Chinese: write {1}",
    ),
    (
        rf"(?<=[{HAN}”）])\.|(?<=[{LATIN}])\.(?=[ ]?[{HAN}]|$)",
        "the half-width {0} stands in Chinese: write {1}",
    ),
    (r"\.\.\.", "three dots stand in Chinese: write ……"),
    (r"[\"'「」『』]", "{0} stands in Chinese: write “ ”"),
    (
        rf"[{HAN}][{LATIN}]|[{LATIN}][{HAN}]",
        "a space is missing between Chinese and Latin text or code",
    ),
    (rf"[ ][{MARKS}]|[{MARKS}][ ]", "a space stands beside the full-width mark: delete it"),
    (rf"[{HAN}][ ]+[{HAN}]", "a space stands within Chinese: delete it"),
    (r"[ ]{2}", "two spaces stand together: keep one"),
    ("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u3000]", "{0} is full-width: write it as ASCII"),
    (rf"(?!一)([{HAN}]{{2,4}})\1", "the word {2} stands twice: keep one"),
    (rf"((?<!目)的|[和与{PAUSES}])\1", "{2} stands twice: keep one"),
    ("语句[体块]", "{0} has another name on this site: write 代码块"),
    ("挂起|停滞", "{0} has another name on this site: write 卡住"),
    ("双重?可调用", "{0} has another name on this site: write 两步调用"),
)
_COMPILED = [(re.compile(pattern), sentence) for pattern, sentence in RULES]
_QUOTED_LATIN = re.compile(f"“[^”{HAN}]*”")
_CHINESE = re.compile(f"[{HAN}]")


def is_chinese(text: str) -> bool:
    """Whether a text has a Chinese character."""
    return bool(_CHINESE.search(text))


def faults(prose: str) -> Iterator[str]:
    """Yield a sentence for each place where the prose of a Chinese text is set wrongly."""
    if not is_chinese(prose):
        return
    prose = _QUOTED_LATIN.sub(f"“{CODE}”", prose)
    for pattern, sentence in _COMPILED:
        for found in pattern.finditer(prose):
            twice = found[1] if pattern.groups else ""
            what = sentence.format(found[0], found[0].translate(FULL), twice)
            place = prose[max(0, found.start() - 6) : found.end() + 6].replace(CODE, "`…`")
            yield f"{what} (in “{place}”)."
