"""A translation has the markup, numbers, levels and words of the protocol of its English.

The denials are compared in the sentences of rules alone.  It is set as Chinese, too.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *sorted((ROOT / "locales/zh_CN/LC_MESSAGES").glob("*.po")),
    *sorted((ROOT / "src/lifespec/conformance/data").glob("*.zh.po")),
]

MARKUP = re.compile(
    r"""(?P<substitution>\{\{[^}]*\}\})
    | (?:\{(?P<myst>[\w:-]+)\}|:(?P<rst>[\w:]+):)`(?P<content>[^`]*)`
    | (?P<literal>``.+?``|`[^`]+`(?!_)|\w+\["\w+"\]|""|\w+\.\w+\([^)]*\))
    | `[^`]*<(?P<rst_link>[^<>`]+)>`_+
    | \]\((?P<link>[^()\s]*)\)
    | <(?P<address>https?://[^>]*)>
    | (?P<blank>%(?:\(\w+\))?[sdr]|\{[a-z_ ]*\})
    | (?P<emphasis>\*\*|\*(?=\S)|(?<=\S)\*)
    """,
    re.VERBOSE,
)
TITLED = re.compile(r"(?P<title>[^<]*)<(?P<target>[^<>]+)>")
PROSE = {"abbr", "ref", "doc", "term"}  # roles whose content is read as words
CODE, WORDS = "\ufffc", "\ufffd"  # stand in prose for code, and for a title from elsewhere

NUMBER = re.compile(r"\d+(?:\.\d+)*")
SPELLED = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
]  # fmt: skip
FIGURES = {word: str(number) for number, word in enumerate(SPELLED)}
FIGURES |= {"first": "1", "once": "1", "second": "2", "twice": "2", "both": "2", "third": "3"}

# Words of the protocol, and those of which a translation has one.  Each raised fewer than one false
# alarm in twenty entries when it was added; *before* and *after* raised more and are left out.
STARTUP = re.compile(r"(?<![.\w*])startup(?!\.?\w)")
SHUTDOWN = re.compile(r"(?<![.\w*])shutdown(?!\.?\w)")
PROTOCOL = [
    (re.compile(r"\bmust\b"), re.compile("必须|不得|须|要|不能")),
    (re.compile(r"\bunless\b", re.IGNORECASE), re.compile("除|否则|若|如|不|未|没")),
    (STARTUP, re.compile("启动|startup")),
    (SHUTDOWN, re.compile("关闭|停止|清理|shutdown")),
    *(
        (re.compile(rf"\b{word}\b", re.IGNORECASE), re.compile(f"[{numerals}]"))
        for word, numerals in {
            "two": "两二双2", "three": "三3", "four": "四4", "five": "五5", "six": "六6",
            "seven": "七7", "eight": "八8", "nine": "九9", "ten": "十10",
        }.items()
    ),
]  # fmt: skip
# How often, and the how manieth: both are numbers.
OFTEN = {"twice": "[两二双2]|重复|再", "third": "[三3]", "fourth": "[四4]"}
COUNTED = re.compile("第?([两二三四])次|第(一)次")
COUNTS = {"一": "1", "两": "2", "二": "2", "三": "3", "四": "4"}
AGAIN = re.compile(r"\b(?:again|repeat\w*)\b|\bonce\b.*\bonce\b", re.DOTALL)
# Names that stand for each other, so that two of them can change places.
NAMES = re.compile(
    r"\b(?:uvicorn|hypercorn|granian|gunicorn|daphne|nonecorn|anycorn|Starlette|FastAPI|Litestar"
    r"|Quart|Django|asyncio|trio|SIGTERM|SIGINT|SIGKILL)\b"
)
ENGLISH_END, CHINESE_MARK = re.compile(r"[.!?](?=\s|$)"), re.compile("[。！？；：，、]")
ORDERED_OTHERWISE = (  # beginnings of entries that name a version after its year, as Chinese does
    "`state` is added (",
    "uvicorn's `--lifespan on` under gunicorn",
    "write a server, own ASGI server",  # words that are searched for
)

LEVEL = re.compile(r"\{(?:must|should|may)\b.*?\}")  # stands in the sentence of a rule
# What looks like a denial and is none stands outside of the group.
DENIALS = (
    re.compile(
        r"\b(not|no|never|nothing|nobody|none|neither|nor|cannot|without|unless|absent|lacks?"
        r"|missing|unknown|unspecified|wrong|out of order|differ\w*)\b",
        re.IGNORECASE,
    ),
    re.compile("不(?:过|论|管|仅|止|断)|无(?:论|须|需|关|限)|([不没无未勿非]|缺少)"),
)

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
LATIN = f"A-Za-z0-9%{CODE}"
MARKS = "，。；：？！、（）“”‘’《》…—"
WRONG = {  # how Chinese is not set
    "a half-width mark": rf"(?<![\w{CODE}])[,;:?!]|(?<=[{HAN}])[,;:?!.]|[,;:?!](?![\w{CODE}])|[()]"
    rf"|\.(?= ?[{HAN}]|$)",
    "a half-width quotation mark": "[\"']",
    "no space between Chinese and Latin text": rf"[{HAN}][{LATIN}]|[{LATIN}][{HAN}]",
    "a space beside a full-width mark": rf"[ ][{MARKS}]|[{MARKS}][ ]",
    "a space within Chinese": rf"[{HAN}][ ]+[{HAN}]",
    "a full-width letter or digit": "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u3000]",
}
# Markdown ends no bold text by ** between a mark and a character: the asterisks are printed.
UNENDED = re.compile(rf"^(?:[^*]|\*\*[^*]*\*\*)*?\*\*[^*]*[{MARKS}]\*\*[{HAN}]")
# One term has one word: words that stood for it beside the word of the glossary.
OTHER_WORDS = {
    "退出状态": "退出码",
    "双重可调用": "两步调用",
    "打开的请求": "尚未结束的请求",
    "包索引": "PyPI",
    "带着消息": "说明原因",
    "traceback": "回溯",
    "第二个循环": "事件循环",
    "时限": "超时时间",
    "上限": "超时时间",
}
EXPLAINED = re.compile("（[^）]*）")  # an English word beside its Chinese
NAMED = re.compile(r"生命周期(?! ?[（%\d]|协议|规范)")  # otherwise it is called lifespan
# What a term of the glossary is called besides, in another sense or as a name of Python.
BESIDES = {
    "timeout": "超时",
    "message": "信息|说明|帮助",
    "rule": "条",
    "test client or adapter": "测试客户端和适配器",
}
LATIN_ONLY = re.compile(f"“[^”{HAN}]*”")
BLOCK = re.compile(r"\s|#+ |[-+*>] |\d+[.)] |```|:::")  # begins what is no paragraph


def read(text: str) -> tuple[Counter[str], str]:
    """Return the markup of a message, counted, and its prose."""
    found: Counter[str] = Counter()

    def replace(match: re.Match[str]) -> str:
        role = match["myst"] or match["rst"]
        if role is None:
            found[match["link"] or match["rst_link"] or match[0]] += 1
            if match["emphasis"] or match["link"] is not None:
                return ""
            return WORDS if match["substitution"] or match["blank"] else CODE
        titled = TITLED.fullmatch(match["content"])
        found[f"{role} {titled['target'] if titled else match['content']}"] += 1
        if titled:
            return titled["title"].strip()
        return (match["content"] if role in {"term", "abbr"} else WORDS) if role in PROSE else CODE

    return found, MARKUP.sub(replace, text).replace("](", "").replace("[", "").strip()


def faults(english: str, chinese: str) -> Iterator[str]:
    """Yield what a translation has and its English has not, or the other way round."""
    if LEVEL.fullmatch(english):
        return
    (ours, prose), (theirs, other) = read(english), read(chinese)
    yield from (f"lacks {each}" for each in (ours - theirs).elements())
    yield from (f"has {each}" for each in (theirs - ours).elements())
    numbers, figures = (Counter(NUMBER.findall(each)) for each in (prose, other))
    words = Counter(
        FIGURES[each] for each in re.findall("[a-z]+", prose.lower()) if each in FIGURES
    )
    yield from (f"lacks the number {each}" for each in (numbers - figures).elements())
    yield from (f"has the number {each}" for each in (figures - numbers - words).elements())
    if not english.startswith(ORDERED_OTHERWISE):
        yield from _other_order(prose, other)
    yield from _other_counts(prose, other)
    yield from _other_words(prose, other)
    if LEVEL.search(english):
        denied = [
            sum(map(bool, p.findall(t))) for p, t in zip(DENIALS, (prose, other), strict=True)
        ]
        if denied[0] != denied[1]:
            yield f"denies {denied[1]} times, the English {denied[0]}"
    if BLOCK.match(chinese) and not BLOCK.match(english):
        yield "is no paragraph: Sphinx would drop it"
    if UNENDED.search(chinese):
        yield "has bold text that does not end"
    if re.search(f"[{HAN}]", other):
        shown = LATIN_ONLY.sub(f"“{CODE}”", other)
        for what, pattern in WRONG.items():
            yield from (f"has {what}: {each}" for each in re.findall(pattern, shown))


def _other_order(prose: str, other: str) -> Iterator[str]:
    """Yield that the same numbers stand in another order, or names that stand there once."""
    for pattern in NUMBER, NAMES:
        ours, theirs = (pattern.findall(each) for each in (prose, other))
        if pattern is NAMES:
            once = {name for name in ours if ours.count(name) == theirs.count(name) == 1}
            ours, theirs = ([name for name in each if name in once] for each in (ours, theirs))
        if ours != theirs and sorted(ours) == sorted(theirs):
            yield f"has the order {theirs}, the English {ours}"


def _other_counts(prose: str, other: str) -> Iterator[str]:
    """Yield what happens twice or the third time in one language only."""
    words = re.findall("[a-z]+", prose.lower())
    for word, counted in OFTEN.items():
        if word in words and not re.search(counted, other):
            yield f"has none of {counted}, for {word}"
    numbers = {*NUMBER.findall(prose), *(FIGURES[word] for word in words if word in FIGURES)}
    if AGAIN.search(prose.lower()):
        numbers.add("2")
    for counted in COUNTED.finditer(other):
        if COUNTS[counted[1] or counted[2]] not in numbers:
            yield f"has {counted[0]}, which the English has not"


def _other_words(prose: str, other: str) -> Iterator[str]:
    """Yield the words of the protocol that a translation lacks, and that it lacks sentences."""
    both = STARTUP.search(prose) and SHUTDOWN.search(prose)
    for word, words in PROTOCOL:
        if word.search(prose) and not words.search(other) and not (word == SHUTDOWN and both):
            yield f"has none of {words.pattern}, for {word.pattern}"
    ends = len(ENGLISH_END.findall(prose)), len(CHINESE_MARK.findall(other))
    if ends[1] < ends[0] > 1:
        yield f"has {ends[1]} clauses, the English {ends[0]} sentences"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_translation_says_what_the_english_does(file: Path) -> None:
    """What waits for a translation is not looked at: CI names it, and a release refuses it."""
    found = [
        f"{file.relative_to(ROOT)}:{entry.lineno}: {fault}: {entry.string}"
        for entry in read_po(io.StringIO(file.read_text("utf-8")))
        if entry.id and entry.string and not entry.fuzzy
        for fault in faults(entry.id, entry.string)
    ]
    assert not found, "\n".join(["Correct these lines, then: make translate", *found])


def terms() -> dict[str, str]:
    """Return the Chinese of each term of the glossary."""
    catalog = read_po(io.StringIO((FILES[0].parent / "glossary.po").read_text("utf-8")))
    titled = re.compile("(.+)（(.+)）")
    found = {entry.id: titled.fullmatch(str(entry.string)) for entry in catalog}
    return {str(term): match[1] for term, match in found.items() if match and match[2] == term}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_term_has_one_word(file: Path) -> None:
    """The words that people search for are others."""
    found = []
    for entry in read_po(io.StringIO(file.read_text("utf-8"))):
        chinese = EXPLAINED.sub("", read(str(entry.string))[1])
        if "，" in chinese and chinese.count("，") > len(chinese) / 12:
            continue  # keywords
        wrong = [f"{word}: write {right}" for word, right in OTHER_WORDS.items() if word in chinese]
        found += [f"{file.name}:{entry.lineno}: {each}: {entry.string}" for each in wrong]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", FILES[-2:], ids=lambda path: path.name)
def test_the_command_uses_the_words_of_the_glossary(file: Path) -> None:
    words = terms()
    assert len(words) > 20
    found = []
    for entry in read_po(io.StringIO(file.read_text("utf-8"))):
        english = re.sub(r"[\w-]*[.-][\w.-]*\w", "", read(str(entry.id))[1])
        for term, chinese in words.items():
            wanted = f"{chinese}|{term}|{BESIDES.get(term, term)}"
            named = re.search(rf"(?<![-\w]){term}s?(?![-\w])", english, re.IGNORECASE)
            if named and not re.search(wanted, str(entry.string), re.IGNORECASE):
                found.append(f"{file.name}:{entry.lineno}: {term} is {chinese}: {entry.string}")
        if NAMED.search(str(entry.string)):
            found.append(f"{file.name}:{entry.lineno}: write lifespan: {entry.string}")
    assert not found, "\n".join(found)
