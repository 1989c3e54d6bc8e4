"""Whether the box of a rule says what rules.toml says of it, in either language.

rules.toml has one English sentence for each box.  The box is written on its page, and translated
in a catalog: three texts, none made from another.  Compared are literals (event names among them),
roles, levels and words of order, each in sequence; which terms stand in the clause of a word of
order, and in all; and in English every word of the sentence, in its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx.util import logging

from lifespec_docs.i18n import lint_chinese, lint_rules
from lifespec_docs.rules.domain import rule_node, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["faults", "setup"]

logger = logging.getLogger(__name__)
WORD = re.compile(r"[\w`\"'\[\]]+")
LITERAL = re.compile(r"`([^`]*)`")
ROLES = {
    "server": (r"servers?", "服务器"),
    "application": (r"applications?", "应用程序"),
    "middleware": (r"middleware", "中间件"),
}
ORDERS = {
    "before": (r"before", "之前"),
    "after": (r"after", "之后"),
    "until": (r"until", "直到"),
    "unless": (r"unless", "除非"),
}
# What the roles do, and with what: one name for both languages.
TERMS = {
    "accept": (r"accept(?:s|ing)?", "接受"),
    "answer": (r"answer(?:s|ed)?", "答复"),
    "body": (r"body", "语句体"),
    "call": (r"call(?:s|ed)?", "调用"),
    "close": (r"clos(?:e|ed)|shutdown", "关闭"),
    "complete": (r"completed?", "完成"),
    "connection": (r"connections?", "连接"),
    "continue": (r"continues?", "继续"),
    "copy": (r"copy", "拷贝"),
    "deliver": (r"delivers?", "投递"),
    "empty": (r"empty", "空"),
    "event": (r"events?(?! loop)", "事件(?!循环)"),
    "event loop": (r"event loops?", "事件循环"),
    "exception": (r"exceptions?", ""),
    "exit": (r"exits?", "退出"),
    "ignore": (r"ignores?", "忽略"),
    "log": (r"logs?", "记录|日志"),
    "print": (r"print", "打印"),
    "process": (r"process(?:es)? (?:connections|messages|requests)", "处理(?:连接|消息|请求)"),
    "raise": (r"rais(?:e|es|ed)", "抛出"),
    "receive": (r"receive[sd]?", "收到"),
    "refuse": (r"refuses?", "拒绝"),
    "report": (r"reports?", "报告"),
    "request": (r"requests?", "请求"),
    "restart": (r"restarts?", "重启"),
    "return": (r"return(?:s|ed)?", "返回"),
    "scope": (r"scope", "作用域"),
    "send": (r"sends?|sent", "发送"),
    "start": (r"start(?:s|ing|up)?", "启动"),
    "state": (r"state", "状态"),
    "stop": (r"stop(?:s|ped)?", "停止"),
    "terminate": (r"terminates?", "终止"),
    "wait": (r"a?waits?", "等待"),
}
# One says what is received where the other names it, or has one word for two.
LOOSE = {"exception", "receive", "event"}
CLAUSE = re.compile(r"[,;:.]\s|[,;:.]$|[，；：。]")


class _Text(NamedTuple):
    """A sentence, and its language."""

    words: str
    chinese: bool

    def found(self, table: dict[str, tuple[str, str]]) -> list[tuple[str, re.Match[str]]]:
        """Return what is named, in the order of the text."""
        hits = [
            (name, match)
            for name, patterns in table.items()
            if patterns[self.chinese]
            for match in self.pattern(patterns[self.chinese]).finditer(self.bare)
        ]
        return sorted(hits, key=lambda hit: hit[1].start())

    def pattern(self, words: str) -> re.Pattern[str]:
        return re.compile(
            words if self.chinese else rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE
        )

    @property
    def bare(self) -> str:
        """The text with something that is no word in the place of each literal."""
        return LITERAL.sub("@", self.words)

    def names(self, table: dict[str, tuple[str, str]]) -> list[str]:
        return [name for name, _ in self.found(table)]

    def terms(self, words: str) -> set[str]:
        return {*_Text(words, self.chinese).names(TERMS)} - LOOSE

    def clauses(self) -> list[str]:
        """Return each word of order with the terms of its clause."""
        return [f"{name} {self._clause(name, match)}" for name, match in self.found(ORDERS)]

    def _clause(self, name: str, match: re.Match[str]) -> str:
        """Chinese has *before* and *after* at the end of their clause, English at its beginning."""
        if self.chinese and name in {"before", "after"}:
            clause = CLAUSE.split(self.bare[: match.start()])[-1].partition("必须")
            words = clause[2] or clause[0]
        else:
            words = CLAUSE.split(self.bare[match.end() :])[0]
        return f"({', '.join(sorted(self.terms(words)))})"


def faults(says: str, text: str, *, chinese: bool) -> Iterator[str]:
    """Yield a sentence for each way in which a box says something else than rules.toml."""
    wanted, found = _Text(says, chinese=False), _Text(" ".join(text.split()), chinese)
    for what, ours, theirs in _compared(wanted, found):
        if ours != theirs:
            yield (
                f"says something else in rules.toml: there {what} are {_listed(ours)}, "
                f"in its text {_listed(theirs)}."
            )
    if not chinese and (lost := _first_lost(says, text)):
        yield f"says something else in rules.toml: its text lacks “{lost}” from there."


def _compared(wanted: _Text, found: _Text) -> Iterator[tuple[str, list[str], list[str]]]:
    yield "the literals", LITERAL.findall(wanted.words), LITERAL.findall(found.words)
    yield "the roles", wanted.names(ROLES), found.names(ROLES)
    yield (
        "the levels",
        lint_rules.levels(wanted.bare, chinese=False),
        lint_rules.levels(found.bare, chinese=found.chinese),
    )
    yield "the words of order", wanted.clauses(), found.clauses()
    yield "the terms", sorted(wanted.terms(wanted.words)), sorted(found.terms(found.words))
    yield (
        "the denials",
        [str(lint_rules.denials(wanted.bare, chinese=False))],
        [str(lint_rules.denials(found.bare, chinese=found.chinese))],
    )


def _first_lost(says: str, text: str) -> str:
    """Return the first word of the sentence that the text does not have in its place, or ""."""
    wanted, found = (WORD.findall(each.casefold()) for each in (says, text))
    rest = iter(found)
    return next((word for word in wanted if word not in rest), "")


def _listed(words: list[str]) -> str:
    return ", ".join(words) or "none"


def check(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each box that says something else than rules.toml, in the language of the page."""
    for box in doctree.findall(rule_node):
        text = " ".join(map(text_of, box.findall(nodes.paragraph)))
        chinese = lint_chinese.is_chinese(LITERAL.sub("", text))
        for sentence in faults(box["says"], text, chinese=chinese):
            logger.warning("The rule %r %s", box["rule_id"], sentence, location=box)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the check."""
    app.setup_extension("lifespec_docs.rules.domain")
    app.connect("doctree-read", check)
    return {"version": "1", "parallel_read_safe": True}
