"""One English term, one Chinese term: the table, and what says where it is not held."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NEVER", "TERMS", "Term", "faults", "is_term"]


class Term(NamedTuple):
    """A term: its name in the glossary, how English writes it, its Chinese.

    `never` is what Chinese may not say in its place; it is no word of these pages, whatever the
    English says, but for those of ORDINARY.
    """

    name: str
    english: str
    chinese: str
    never: str = ""


TERMS = (
    Term("lifespan", r"lifespans?", "生命周期", "寿命|生存期|生命期|生存周期"),
    Term("application", r"applications?", "应用程序", "应用(?!程序)|应用程式"),
    Term("server", r"servers?", "服务器", "服务端|服务程序|伺服器"),
    Term("scope", r"scopes?", "作用域", "范围|作用范围"),
    Term("event", r"events?", "事件"),
    Term("message", r"messages?", "消息", "讯息"),
    Term("startup", r"startup|start(?:s|ed|ing)? up", "启动", "开机"),
    Term("shutdown", r"shutdown|shut(?:s|ting)? down", "关闭", "关机|停机|关停"),
    Term("event loop", r"event loops?", "事件循环", "事件环"),
    Term("callable", r"callables?", "可调用对象", "可调用(?!对象)"),
    Term("middleware", r"middlewares?", "中间件", "中介软件"),
    Term("shallow copy", r"shallow cop(?:y|ies)", "浅拷贝", "浅复制|浅层拷贝|浅层复制"),
    Term("namespace", r"namespaces?", "命名空间", "名称空间|名字空间"),
    Term("state", r"states?(?! (?:that|what|how|why)\b)", "状态"),
    Term("connection pool", r"connection pools?", "连接池", "连线池|链接池"),
    Term(
        "worker process", r"workers?(?! threads?\b)(?: process(?:es)?)?", "工作进程", "工人|工作者"
    ),
    Term("decline", r"declin(?:e|es|ed|ing)", "谢绝", "婉拒"),
    Term("crash", r"crash(?:es|ed|ing)?", "崩溃", "奔溃|崩坏|宕机"),
    Term("conformance", r"conformance", "符合性", "合规性|一致性"),
    Term("rule", r"(?<!as a )(?:rules?(?! out\b)|clauses?)", "规则", "条款"),
    Term("exception", r"exceptions?", "异常", "(?<!不)例外"),
    Term("raise", r"rais(?:e|es|ed|ing)", "抛出", "引发"),
)
ORDINARY = {"范围", "一致性"}  # where no term stands, these mean something else
NEVER = {
    "您": "a specification does not address its reader: leave it out",
}

_PATTERNS = [
    (term, re.compile(rf"(?<![\w.-])(?:{term.english})(?![\w-]|\.\w)", re.IGNORECASE), term.never)
    for term in TERMS
]


def is_term(text: str) -> bool:
    """Whether a text is one term and nothing else, in either language."""
    return any(text == term.chinese or pattern.fullmatch(text) for term, pattern, _ in _PATTERNS)


def faults(english: str, chinese: str) -> Iterator[str]:
    """Yield a sentence for each term of the English prose that the Chinese does not keep."""
    for term, pattern, never in _PATTERNS:
        found = pattern.search(english)
        if found and term.chinese not in chinese:
            yield f"the English says {found[0]!r}: the Chinese must say {term.chinese}."
        wrong = re.search(never, chinese) if never else None
        if wrong and (found or wrong[0] not in ORDINARY):
            what = found[0] if found else term.name
            yield f"{wrong[0]} stands for {what!r}: write {term.chinese}."
    for wrong_word, why in NEVER.items():
        if wrong_word in chinese:
            yield f"{wrong_word} stands in the Chinese; {why}."
