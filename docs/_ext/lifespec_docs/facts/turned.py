"""Says where a change has turned one language and not the other: *after* for *before* in one.

Nothing here counts the words of a text, so that both languages are written freely: it compares how
each of them *changed* since it was approved.  `make approve` shows what is found; nothing is
refused for it, because a better sentence may also say the same with other words.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["CHINESE_DENIALS", "ENGLISH_DENIALS", "Texts", "turned"]

# Of what looks like a denial and is none, the pattern has no group.
ENGLISH_DENIALS = re.compile(
    r"\b(?P<denial>not|no|never|nothing|nobody|none|neither|nor|cannot|without|unless|absent"
    r"|(?:must|should)n['’]t|lacks?|missing|unknown|unspecified|wrong|out of order|differ\w*)\b",
    re.IGNORECASE,
)
CHINESE_DENIALS = re.compile(
    "不(?:过|论|管|仅|止|断)|无(?:论|须|需|关|限)|(?P<denial>[不没无未勿非]|缺少)"
)


class Texts(NamedTuple):
    """A statement in both languages."""

    english: str
    chinese: str


def _words(english: str, chinese: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(rf"\b(?:{english})\b", re.IGNORECASE), re.compile(chinese)


# what a word can turn, and the words of both languages that do
ASPECTS = {
    "order": _words(
        "before|after|first|last|then|until|later|earlier|previous|next",
        "[之以]?[前后]|[先首末再才]|直到|上一|下一",
    ),
    "denial": (ENGLISH_DENIALS, CHINESE_DENIALS),
    "duty": _words(
        "must|should|may|can|requires?|recommends?",
        "必须|不得|(?<![响对相反适供效回])应该?(?![用答变急付邀声])|可以|要求|建议|需要",
    ),
    "party": _words(
        "(?:servers?|applications?|middlewares?|clients?|adapters?|requests?|frameworks?)",
        "服务器|应用程序|中间件|客户端|适配器|请求|框架",
    ),
    "step": _words(
        "start(?:s|ed|up)?|stop(?:s|ped)?|shuts?(?: ?down)?|open(?:s|ed)?|close[sd]?|end(?:s|ed)?",
        "启动|关闭|打开|开始|结束|停止",
    ),
    "number": _words(
        "one|two|three|four|five|six|seven|eight|nine|ten|once|twice|both|half|all|every|each|only",
        "[零两二三四五六七八九十半]|(?<!哪)一(?![般样起直些旦定])|所有|全部|每|只(?![要是好能])有?|仅|都",
    ),
    "measure": _words(
        "more|less|most|least|longer|shorter|errors?|warnings?|fail(?:s|ed|ure)?|succeeds?",
        "更(?!新)|(?<!缺)[多少大小长短]|至[多少]|错误|警告|失败|成功",
    ),
}


def turned(old: Texts, new: Texts) -> Iterator[str]:
    """Yield a sentence for each aspect in which one language alone changed, with its words."""
    if old.chinese and new.chinese:
        for what, patterns in ASPECTS.items():
            changes = [
                _difference(pattern, before, after)
                for pattern, before, after in zip(patterns, old, new, strict=True)
            ]
            for language, here, there in (
                ("English", changes[0], changes[1]),
                ("Chinese", changes[1], changes[0]),
            ):
                if here and not there:
                    yield f"the {language} alone changed a word of {what}: {here}"


def _difference(pattern: re.Pattern[str], old: str, new: str) -> str:
    """Return what became of the words that a pattern finds."""
    before, after = (
        [
            found[0].lower()
            for found in pattern.finditer(text)
            if found.lastgroup or not pattern.groups
        ]
        for text in (old, new)
    )
    parts = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return ", ".join(
        f"{' '.join(before[i:j]) or '–'} → {' '.join(after[k:end]) or '–'}"
        for kind, i, j, k, end in parts
        if kind != "equal"
    )
