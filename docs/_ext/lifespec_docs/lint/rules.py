"""The words of a rule box in both languages: *must* that became 应 is another protocol.

Only rule boxes are held to this.  In all other prose both languages write as they like.
"""

import re
from collections.abc import Iterator

__all__ = ["CHINESE", "debtors", "denials", "faults", "levels"]

ENGLISH_DENIALS = re.compile(
    r"\b(?P<denial>not|no|never|nothing|nobody|none|neither|nor|cannot|without|unless|absent"
    r"|(?:must|should)n['’]t|lacks?|missing|unknown|unspecified|wrong|out of order|differ\w*)\b",
    re.IGNORECASE,
)
CHINESE_DENIALS = re.compile(
    "不(?:过|论|管|仅|止|断)|无(?:论|须|需|关|限)|(?P<denial>[不没无未勿非]|缺少)"
)

CHINESE = {"must": "必须", "must not": "不得", "should": "应", "should not": "不应", "may": "可以"}
ROLES = {"server": "服务器", "application": "应用程序", "middleware": "中间件"}
ENGLISH_WORDS = re.compile(
    r"\b(?:(?P<must_not>must (?:not|never)|mustn['’]t)|(?P<must>must)"
    r"|(?P<should_not>should (?:not|never)|shouldn['’]t)|(?P<should>should)"
    r"|(?P<may>may)(?! \d))\b",
    re.IGNORECASE,
)
# Words that have 应 or 不得 in them and lay no duty on anybody come first.
CHINESE_WORDS = re.compile(
    "应[用答变急付邀声]|[响对相反适供效回感顺呼照]应|不得[不已]|(?P<must>必须)|(?P<must_not>不得)"
    "|(?P<should_not>不应[当该]?)|(?P<should>应[当该]?)|(?P<may>可以)"
)
# “A before B” may be “A 之后再 B”: of the words that fit both orders, none is found.
ENGLISH_ORDER, CHINESE_ORDER = (
    re.compile(r"(?<!not )\b(?:(?P<before>before)|(?P<after>after))\b", re.IGNORECASE),
    re.compile("(?P<before>之前)|(?P<after>之后)(?![再才])"),
)
# Who is named before a duty owes it; these are named as those to whom something is done.
ENGLISH_DEBTORS = re.compile(
    r"(?<!call the )(?<!keep the )\b(?P<server>servers?)\b(?!’s)"
    r"|(?<!call the )(?<!keep the )\b(?P<application>applications?)\b(?!’s)",
    re.IGNORECASE,
)
CHINESE_DEBTORS = re.compile("(?<!阻止)(?P<server>服务器)|(?<!对)(?P<application>应用程序)")
SENTENCES = re.compile(r"[.:]\s|[。：；]")


def levels(prose: str, *, chinese: bool) -> list[str]:
    """Return the duties of a text, by their English names, in its order."""
    return _named(CHINESE_WORDS if chinese else ENGLISH_WORDS, prose)


def denials(prose: str, *, chinese: bool) -> int:
    """Count how often a text denies something."""
    return len(_named(CHINESE_DENIALS if chinese else ENGLISH_DENIALS, prose))


def _named(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the names of what is found, in the order of the text."""
    found = (match.lastgroup for match in pattern.finditer(text))
    return [name.replace("_", " ") for name in found if name]


def faults(english: str, chinese: str, rule: str) -> Iterator[str]:
    """Yield a sentence for each way in which the two texts of a rule say different things."""
    for what, ours, theirs in _compared(english, chinese):
        if ours != theirs:
            yield (
                f"in the rule {rule} {what}: the English {_listed(ours)}, "
                f"the Chinese {_listed(theirs)}."
            )


def _compared(english: str, chinese: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what is compared, and how each text has it."""
    ours, theirs = levels(english, chinese=False), levels(chinese, chinese=True)
    yield (
        "the levels differ",
        ours,
        [level if level in ours else f"{level} ({CHINESE[level]})" for level in theirs],
    )
    denied = denials(english, chinese=False), denials(chinese, chinese=True)
    yield "the number of denials differs", [str(denied[0])], [str(denied[1])]
    named = [role for role in ROLES if re.search(rf"(?<![\w-]){role}s?\b", english, re.IGNORECASE)]
    yield "a role is not named", named, [role for role in named if ROLES[role] in chinese]
    owe, owed_ = ({*debtors(english, chinese=False)}, {*debtors(chinese, chinese=True)})
    if owe and owed_:
        yield "another role owes the duty", sorted(owe), sorted(owed_)
    order, other = (
        sorted({*_named(ENGLISH_ORDER, english)}),
        sorted({*_named(CHINESE_ORDER, chinese)}),
    )
    if len(order) == len(other) == 1:
        yield "the order is another one", order, other


def _listed(words: list[str]) -> str:
    return ", ".join(words) or "nothing"


def debtors(prose: str, *, chinese: bool) -> Iterator[str]:
    """Yield who owes each duty of a text: the role named last before it in its sentence."""
    duties = CHINESE_WORDS if chinese else ENGLISH_WORDS
    roles = CHINESE_DEBTORS if chinese else ENGLISH_DEBTORS
    for sentence in SENTENCES.split(prose):
        for duty in filter(lambda found: found.lastgroup, duties.finditer(sentence)):
            named = [found.lastgroup for found in roles.finditer(sentence, 0, duty.start())]
            yield from filter(None, named[-1:])
