"""The glossary: `{terms}` is a `{glossary}` of exactly the terms that TERMS holds.

Beside each term stands what it is called in the other language, drawn from that table.
"""

from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.std import Glossary
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

__all__ = ["TERMS", "Counterparts", "Term", "Terms", "setup"]

logger = logging.getLogger(__name__)


class Term(NamedTuple):
    """A term of the glossary, in both languages."""

    name: str
    chinese: str


TERMS = (
    Term("lifespan", "生命周期"),
    Term("application", "应用程序"),
    Term("server", "服务器"),
    Term("scope", "作用域"),
    Term("event", "事件"),
    Term("message", "消息"),
    Term("startup", "启动"),
    Term("shutdown", "关闭"),
    Term("state", "状态"),
    Term("shallow copy", "浅拷贝"),
    Term("event loop", "事件循环"),
    Term("worker process", "工作进程"),
    Term("connection pool", "连接池"),
    Term("callable", "可调用对象"),
    Term("middleware", "中间件"),
    Term("test client or adapter", "测试客户端或适配器"),
    Term("exception", "异常"),
    Term("raise", "抛出"),
    Term("specification", "规范"),
    Term("rule", "规则"),
    Term("role", "角色"),
    Term("conformance", "一致性"),
    Term("report", "报告"),
    Term("validator", "校验器"),
    Term("server under test", "被测服务器"),
    Term("message sequence", "消息序列"),
    Term("transition", "转换"),
    Term("outcome", "结果"),
    Term("does not support lifespan", "不支持 lifespan"),
    Term("crash", "崩溃"),
    Term("returned early", "提前返回"),
    Term("timeout", "超时时间"),
    Term("grace period", "宽限期"),
)


class Terms(Glossary):
    """A glossary that has each term of the table, and no other."""

    def run(self) -> list[nodes.Node]:
        """Return the glossary; say where page and table differ."""
        found = super().run()
        entries = [term for node in found for term in node.findall(nodes.term)]
        listed = {term.name for term in TERMS}
        for entry in entries:
            entry["term"] = entry.rawsource
            if entry.rawsource not in listed:
                text = "%r is no term of TERMS: add it there, or explain it elsewhere."
                logger.warning(text, entry.rawsource, location=entry)
        for name in sorted(listed - {entry.rawsource for entry in entries}):
            logger.warning("The glossary lacks the term %r.", name, location=self.get_location())
        return found


class Counterparts(SphinxPostTransform):
    """Puts the other language's word beside each term: no catalog holds it."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Add the words."""
        chinese = {term.name: term.chinese for term in TERMS}
        for entry in self.document.findall(nodes.term):
            name = entry.get("term")
            if name in chinese:
                english = self.config.language == "en"
                word, tag = (chinese[name], "zh-CN") if english else (name, "en")
                entry.append(nodes.inline("", word, classes=["counterpart", f"language-{tag}"]))


def setup(app: Sphinx) -> None:
    """Register `{terms}`."""
    app.add_directive("terms", Terms)
    app.add_post_transform(Counterparts)
