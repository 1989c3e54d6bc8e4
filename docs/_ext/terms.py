"""The terms of the glossary: for each English one its Chinese."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TERMS", "Term"]


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
    Term("event loop", "事件循环"),
    Term("callable", "可调用对象"),
    Term("middleware", "中间件"),
    Term("shallow copy", "浅拷贝"),
    Term("namespace", "命名空间"),
    Term("state", "状态"),
    Term("connection pool", "连接池"),
    Term("worker process", "工作进程"),
    Term("decline", "谢绝"),
    Term("crash", "崩溃"),
    Term("conformance", "符合性"),
    Term("rule", "规则"),
    Term("exception", "异常"),
    Term("raise", "抛出"),
)
