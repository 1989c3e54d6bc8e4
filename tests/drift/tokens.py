"""The normative tokens of a text, and what a single change makes of each."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = [
    "EVENT",
    "PARTIES",
    "Edit",
    "chinese",
    "code",
    "common",
    "each",
    "english",
    "other_event",
    "other_party",
    "printed",
]


class Edit(NamedTuple):
    """One change: the class of the token, where it stands, and what stands there afterwards."""

    token: str
    start: int
    end: int
    new: str


def _next(*words: str) -> dict[str, str]:
    """Let each word become the next one."""
    return dict(zip(words, (*words[1:], words[0]), strict=True))


KEYS = _next("message", "state", "type") | _next("asgi", "amgi", "pagi")
KEYS |= _next("spec_version", "version") | _next("is_worker", "worker_num")
OUTCOMES = _next("complete", "failed", "declined", "crashed", "left", "timed out", "cancelled")
PHASES = _next("waiting", "running", "stopping", "answered", "dismissed", "ended")
LOG = _next("DEBUG", "INFO", "WARNING", "ERROR")
VERSIONS = _next("1.0", "2.0", "3.0", "0.3")
PARTY = _next("server", "application")
LEVELS = {
    "must not": "should not",
    "should not": "may",
    "must": "should",
    "should": "may",
    "may": "must",
}
DENIED = {
    "must not": "must",
    "should not": "should",
    "must": "must not",
    "should": "should not",
    "may": "must not",
}
CHINESE_LEVELS = {"不得": "不应", "不应": "可以", "必须": "应", "应": "可以", "可以": "必须"}
CHINESE_DENIED = {"不得": "必须", "不应": "应", "必须": "不得", "应": "不应", "可以": "不得"}
CHINESE_PARTY = {"服务器": "应用程序", "应用程序": "服务器"}

NUMBERS = "number"
TERMS = {  # and what another translator would say
    "生命周期": "寿命",
    "作用域": "范围",
    "事件": "消息",
    "启动": "开机",
    "关闭": "停机",
    "事件循环": "事件环",
    "可调用对象": "可调用",
    "中间件": "中介软件",
    "浅拷贝": "浅复制",
    "命名空间": "名称空间",
    "状态": "情况",
    "工作进程": "工人",
    "谢绝": "婉拒",
    "崩溃": "宕机",
    "规则": "条款",
    "异常": "例外",
    "抛出": "引发",
}
EVENT = re.compile(
    r"(?<![\w.])((?:lifespan\.)?)(startup|shutdown)\.(complete|failed)\b"
    r"|(?<![\w.])lifespan\.(startup|shutdown)\b(?!\.\w)"
)
KEY = re.compile(rf"(?<=[\"'`])({'|'.join(KEYS)})(?=[\"'`])")
VERSION = re.compile(r"(?<![\w.])(1\.0|2\.0|3\.0|0\.3)(?![\w.]*\d)")
NUMBER = re.compile(r"(?<![\w.,#{:-])(\d+)(?:\.\d+)?(?![\w,}]|\.\d)")
LEVEL = re.compile(r"\b(must not|should not|must|should|may)\b")
CHINESE_LEVEL = re.compile(
    "应[用答变急付邀声]|[响对相反适供效回感顺呼照]应|不得[不已]|(必须|不得|不应|应|可以)"
)
PARTIES = re.compile(r"(?<![\w-])(server|application)(?=s?\b)", re.IGNORECASE)
WORDS = re.compile(rf"(?<=`)({'|'.join([*OUTCOMES, *PHASES])})(?=`)")
PRINTED = re.compile(rf"(?<=outcome: )({'|'.join(OUTCOMES)})\b|\b({'|'.join(PHASES)})\b(?= )")
LOGGED = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR)\b")
DEFAULT = re.compile(r"`(\"\")`")
NEGATION = re.compile(
    r"\b(is|are|was|has|have|can|will) not\b|\b(does|do) not\b|\bcannot\b|\bnever\b|\bnot\b"
    r"|\b(is|are|can|will)\b"
)
CHINESE_NEGATION = re.compile("并非|没有|(?<!要)不(?![得应过论管断])|未(?!知)|是|会|能")


def each(
    token: str, pattern: re.Pattern[str], text: str, new: Callable[[str], str | None]
) -> Iterator[Edit]:
    """Yield a change for each place where a token stands."""
    for found in pattern.finditer(text):
        changed = new(found[0])
        if changed is not None and changed != found[0]:
            yield Edit(token, found.start(), found.end(), changed)


def other_event(text: str) -> str:
    """Say another event: the other answer to the same question, or the other question."""
    for one, other in (("complete", "failed"), ("failed", "complete")):
        if text.endswith(one):
            return text.removesuffix(one) + other
    return _asked(text)


def _asked(text: str) -> str:
    one, other = ("startup", "shutdown") if "startup" in text else ("shutdown", "startup")
    return text.replace(one, other)


def _other_question(text: str) -> str | None:
    """Say the same answer to the other question."""
    return _asked(text) if "." in text.removeprefix("lifespan.") else None


def _more(text: str) -> str | None:
    """Say a number that is one more."""
    if text in VERSIONS:
        return None
    whole, dot, rest = text.partition(".")
    return f"{int(whole) + 1}{dot}{rest}"


def other_party(text: str) -> str:
    """Name the other party, in a capital where the first was."""
    other = PARTY[text.lower()]
    return other.capitalize() if text[0].isupper() else other


def common(text: str) -> Iterator[Edit]:
    """Yield the changes of what is the same in both languages."""
    yield from each("event", EVENT, text, other_event)
    yield from each("event", EVENT, text, _other_question)
    yield from each("key", KEY, text, KEYS.get)
    yield from each("version", VERSION, text, VERSIONS.get)
    yield from each(NUMBERS, NUMBER, text, _more)


def _marked(text: str) -> Iterator[Edit]:
    """Yield the changes of what prose has as literals."""
    yield from common(text)
    yield from each("outcome or phase", WORDS, text, (OUTCOMES | PHASES).get)
    yield from each("log level", LOGGED, text, LOG.get)
    for found in DEFAULT.finditer(text):
        yield Edit("default", found.start(1), found.end(1), '"none"')


def english(text: str) -> Iterator[Edit]:
    """Yield the changes of English prose."""
    yield from _marked(text)
    yield from each("level", LEVEL, text, LEVELS.get)
    yield from each("party", PARTIES, text, other_party)
    if LEVEL.search(text):
        yield from each("negation", LEVEL, text, DENIED.get)
    elif found := NEGATION.search(text):
        yield Edit("negation", found.start(), found.end(), _denied(found[0]))


def _denied(text: str) -> str:
    """Deny what is said, or say what is denied."""
    if text in {"never", "cannot"}:
        return {"never": "always", "cannot": "can"}[text]
    return text.replace(" not", "").replace("not", "") if "not" in text else f"{text} not"


def chinese(text: str) -> Iterator[Edit]:
    """Yield the changes of Chinese prose."""
    yield from _marked(text)
    duties = [found for found in CHINESE_LEVEL.finditer(text) if found[1]]
    for found in duties:
        yield Edit("level", *found.span(1), CHINESE_LEVELS[found[1]])
        yield Edit("negation", *found.span(1), CHINESE_DENIED[found[1]])
    for found in re.finditer("服务器|应用程序", text):
        yield Edit("party", *found.span(), CHINESE_PARTY[found[0]])
    for term, other in TERMS.items():
        for found in re.finditer(term, text):
            yield Edit("term", *found.span(), other)
    if not duties and (found := CHINESE_NEGATION.search(text)):
        new = f"不{found[0]}" if found[0] in "是会能" else {"没有": "有"}.get(found[0], "")
        yield Edit("negation", *found.span(), new)


def code(text: str) -> Iterator[Edit]:
    """Yield the changes of a program, its numbers left alone."""
    yield from (edit for edit in common(text) if edit.token != NUMBERS)


def printed(text: str) -> Iterator[Edit]:
    """Yield the changes of what a program prints."""
    yield from common(text)
    yield from each("outcome or phase", PRINTED, text, (OUTCOMES | PHASES).get)
    yield from each("log level", LOGGED, text, LOG.get)
    yield from each("party", PARTIES, text, other_party)
