"""The words of RFC 2119 in both languages: *must* that became 应 is another protocol."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHINESE", "counted", "debtors", "faults", "levelled", "owed"]

CHINESE = {
    "must": "必须",
    "must not": "不得",
    "should": "应",
    "should not": "不应",
    "may": "可以",
}
ENGLISH_WORDS = re.compile(
    r"\b(?:(?P<must_not>must (?:not|never)|mustn['’]t)|(?P<must>must)"  # noqa: RUF001
    r"|(?P<should_not>should (?:not|never)|shouldn['’]t)|(?<!as it )(?P<should>should)"  # noqa: RUF001
    r"|(?P<may>may)(?! \d))\b",
    re.IGNORECASE,
)
# Words that have 应 or 不得 in them and lay no duty on anybody come first.
CHINESE_WORDS = re.compile(
    "应[用答变急付邀声]|[响对相反适供效回感顺呼照]应|不得[不已]|(?P<must>必须)|(?P<must_not>不得)"
    "|(?P<should_not>不应[当该]?)|(?P<should>应[当该]?)|(?P<may>可以)"
)
# What English may say instead outside of rules, where Chinese has the word of the duty.
INSTEAD = {
    "must": r"(?:has|have|had|having) to|need(?:s|ed)?|requir\w+|necessary|only (?:if|when|after)",
    "must not": r"cannot|can['’]t|never|forbid\w*|not allowed|may not",  # noqa: RUF001
    "should": r"ought to|(?:is|are) to|supposed to",
    "should not": r"ought not|better not",
}
POSSIBLY = re.compile("可能|也许|或许")
# Who is named before a duty owes it; these are named as those to whom something is done.
ENGLISH_DEBTORS = re.compile(
    r"(?<!call the )(?<!keep the )\b(?P<server>servers?)\b(?!’s)"  # noqa: RUF001
    r"|(?<!call the )(?<!keep the )\b(?P<application>applications?)\b(?!’s)",  # noqa: RUF001
    re.IGNORECASE,
)
CHINESE_DEBTORS = re.compile("(?<!阻止)(?P<server>服务器)|(?<!对)(?P<application>应用程序)")
SENTENCES = re.compile(r"[.:]\s|[。：；]")  # noqa: RUF001


def counted(pattern: re.Pattern[str], text: str) -> Counter[str]:
    """Count the duties of a text by their English names."""
    found = (match.lastgroup for match in pattern.finditer(text))
    return Counter(name.replace("_", " ") for name in found if name)


def faults(english: str, chinese: str, *, rule: str = "") -> Iterator[str]:
    """Yield a sentence for each duty that is not the same in both texts.

    In a rule every word must have its counterpart.  Elsewhere Chinese may say a word of duty
    where English says *has to* or *cannot*, and 可能 for *may*; it may never say a weaker one.
    """
    ours, theirs = counted(ENGLISH_WORDS, english), counted(CHINESE_WORDS, chinese)
    for name, word in CHINESE.items():
        least = most = ours[name]
        if not rule and name == "may":
            least, most = least - len(POSSIBLY.findall(chinese)), theirs[name]
        elif not rule:
            most += len(re.findall(rf"\b(?:{INSTEAD[name]})\b", english, re.IGNORECASE))
        if not least <= theirs[name] <= most:
            where = f"in the rule {rule} " if rule else ""
            yield (
                f"{where}the English says “{name}” {_times(ours[name])}, the Chinese {word} "
                f"{_times(theirs[name])}: a translation keeps every duty."
            )


def debtors(prose: str, *, chinese: bool) -> Iterator[str]:
    """Yield who owes each duty of a text: the party named last before it in its sentence."""
    duties = CHINESE_WORDS if chinese else ENGLISH_WORDS
    parties = CHINESE_DEBTORS if chinese else ENGLISH_DEBTORS
    for sentence in SENTENCES.split(prose):
        for duty in filter(lambda found: found.lastgroup, duties.finditer(sentence)):
            named = [found.lastgroup for found in parties.finditer(sentence, 0, duty.start())]
            yield from filter(None, named[-1:])


def owed(prose: str, level: str, party: str, *, chinese: bool) -> Iterator[str]:
    """Yield a sentence where the text of a rule lays another duty than this one, or on another.

    Beside the word of its level a text can say what is allowed; without a level it says neither.
    """
    pattern = CHINESE_WORDS if chinese else ENGLISH_WORDS
    said = set(counted(pattern, prose))
    if not level:
        if said:
            yield f"has no level by rules.toml; what its text says is: {', '.join(sorted(said))}."
    elif level not in said or said - {level, "may"}:
        told = ", ".join(sorted(said)) or "nothing"
        yield f"is a “{level}” by rules.toml; what its text says is: {told}."
    for other in {*debtors(prose, chinese=chinese)} - {party}:
        yield f"is one of the {party} by rules.toml; its text lays a duty on the {other}."


def levelled(text: str, stated: str, level: str, *, chinese: bool) -> str:
    """Put the word of a level in the place of the one that a text states."""
    pattern = CHINESE_WORDS if chinese else ENGLISH_WORDS
    word = CHINESE[level] if chinese else level
    stated = stated.replace(" ", "_")
    return pattern.sub(lambda found: word if found.lastgroup == stated else found[0], text)


def _times(count: int) -> str:
    return {0: "not once", 1: "once"}.get(count, f"{count} times")
