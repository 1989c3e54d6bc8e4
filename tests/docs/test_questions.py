"""What a new user asks is answered within two clicks from the front page, and by the search box."""

import posixpath
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from searching import found

from lifespec_docs.search.index import FILE

pytestmark = pytest.mark.timeout(300)  # the first test builds the site

CLICKS = 2
FIRST = 3  # of what the search box finds, those that a reader looks at


class Question(NamedTuple):
    """A question: where its answer stands, what stands in the answer, and how it is searched for.

    `others` are pages that answer it, too, when the search finds them.
    """

    answer: str
    says: tuple[str, ...]
    others: tuple[str, ...]
    queries: dict[str, tuple[str, ...]]


LOG_LINES = (
    "ASGI 'lifespan' protocol appears unsupported.",
    "ASGI Framework Lifespan error, continuing without Lifespan support",
    "ASGI Lifespan errored, continuing without Lifespan support",
)
QUESTIONS = {
    "what happens if my startup raises": Question(
        "quickstart-application#startup-raises",
        ("lifespan.startup.failed", "ERROR"),
        ("edge-cases", "applications-without-lifespan", "startup"),
        {
            "en": ("What happens if my startup raises?", "startup raises", "exception in startup"),
            "zh-cn": ("启动抛出异常", "启动时抛出异常会怎样？", "启动 异常"),
        },
    ),
    "how do I test this": Question(
        "test-application#how-to-test",
        ("Lifespan", "httpx", "pytest"),
        ("check-conformance",),
        {
            "en": ("How do I test this?", "test", "test application", "pytest"),
            "zh-cn": ("如何测试", "测试应用程序", "测试", "pytest"),
        },
    ),
    "how do I share a pool with requests": Question(
        "quickstart-application#share-a-pool",
        ('scope["state"]["pool"]', "request.state.pool"),
        ("state",),
        {
            "en": ("How do I share a pool with requests?", "share pool requests", "pool requests"),
            "zh-cn": ("连接池 请求 共享", "如何与请求共享连接池？", "请求共享连接池"),
        },
    ),
    "what does this log line mean": Question(
        "troubleshooting#lifespan-unsupported",
        ("uvicorn --lifespan on", "with_lifespan", "continuing without Lifespan support"),
        ("server-compatibility",),
        {"en": LOG_LINES, "zh-cn": LOG_LINES},
    ),
    "why does my startup not run": Question(
        "troubleshooting#startup-does-not-run",
        ("uvicorn shop:app --lifespan on", "lifespec check app"),
        (),
        {
            "en": ("startup is not running", "startup not running", "lifespan not working"),
            "zh-cn": ("启动代码没有运行", "启动 没有运行", "lifespan 不生效"),
        },
    ),
    "why does Ctrl-C not end the server": Question(
        "troubleshooting#ctrl-c-hangs",
        ("Waiting for application shutdown.", "--timeout-graceful-shutdown"),
        ("timeouts", "graceful-shutdown"),
        {
            "en": ("Ctrl-C hangs", "Waiting for application shutdown."),
            "zh-cn": ("Ctrl-C 无法退出", "Waiting for application shutdown."),
        },
    ),
}


def read(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def links(folder: Path, name: str) -> Iterator[str]:
    """Yield where the links in the text of a page lead, as page#section within the folder."""
    for link in read(folder / f"{name}.html").select("article a[href]"):
        parts = urlsplit(str(link["href"]))
        if not parts.scheme and parts.path.endswith(".html"):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path))
            yield f"{path.removesuffix('.html')}#{unquote(parts.fragment)}"


def clicks(folder: Path, goal: str) -> int:
    """Count the clicks from the front page to a section, or to the page that it begins."""
    page, section = goal.split("#")
    goals = {goal, f"{page}#"} if begins(folder / f"{page}.html", section) else {goal}
    seen, waiting = {"index"}, deque([("index", 1)])
    while waiting:
        name, count = waiting.popleft()
        found = list(links(folder, name))
        if goals & set(found):
            return count
        for other in (each.split("#")[0] for each in found):
            if other not in seen and (folder / f"{other}.html").exists():
                seen.add(other)
                waiting.append((other, count + 1))
    raise LookupError(f"no link leads to {goal}")


def begins(page: Path, section: str) -> bool:
    """Whether a section is the first of its page: who opens the page reads it."""
    first = read(page).select_one("article section")
    return first is not None and section in ids(first)


def ids(section: Tag) -> set[str]:
    """Give the ids by which a section is linked to: its own, and those of its labels."""
    spans = [each for each in section.find_all("span", recursive=False) if each.get("id")]
    return {str(section.get("id")), *(str(each["id"]) for each in spans)}


def text_of(page: Path, section: str) -> str:
    (found,) = [each for each in read(page).select("article section") if section in ids(each)]
    return found.get_text()


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_within_two_clicks(site: Path, folder: str, question: str) -> None:
    """By links in the text of the pages alone, and what they lead to is the answer."""
    goal, says = QUESTIONS[question].answer, QUESTIONS[question].says
    page, section = goal.split("#")
    text = text_of(site / folder / f"{page}.html", section)
    assert [word for word in says if word not in text] == []
    assert clicks(site / folder, goal) <= CLICKS


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_the_search_answers(site: Path, folder: str) -> None:
    asked = {query: each for each in QUESTIONS.values() for query in each.queries[folder]}
    answers = found((site / folder / FILE).read_text("utf-8"), *asked)
    for (query, question), answer in zip(asked.items(), answers, strict=True):
        pages = [*dict.fromkeys(each["page"] for each in answer["results"])]
        assert {question.answer.split("#")[0], *question.others} & {*pages[:FIRST]}, query
