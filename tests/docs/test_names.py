"""A name in a literal of a page occurs in a source, a program of the page, or a package."""

import builtins
import keyword
import re
import sys
import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ["src/**/*", "tests/**/*", "docs/_ext/**/*", "docs/_measure/*", "docs/*.py"]
SOURCES += ["docs/programs/**/*", "docs/matrix/**/*", ".ci/*", ".github/**/*", "Makefile", "*.toml"]
PACKAGES = ["amgi-common", "anyio", "asgi-lifespan", "hypercorn", "pytest", "starlette"]
PACKAGES += ["gunicorn", "litestar", "pytest-asyncio", "trio", "uvicorn"]
MODULES = ["asyncio", "contextlib", "logging", "signal", "subprocess", "threading", "unittest"]
EXCEPTIONS = {
    "CMD": "an instruction of Dockerfiles",
    "EventSource": "a class of browsers",
    "asyncpg": "a database driver in an address of SQLAlchemy",
    "compose": "a command of Docker",
    "default_connection": "a name in a message of Tortoise ORM",
    "generate_schemas": "an argument of Tortoise ORM",
    "ltnp": "options of ss, a command of Linux",
    "on-failure": "a value of systemd's Restart",
    "operate": "a word of a message of SQLite",
    "postgresql": "a database in an address of SQLAlchemy",
    "pre-stop": "a path of Alibaba Cloud's Function Compute",
    "register_tortoise": "a function of Tortoise ORM",
    "scf_bootstrap": "a file of Tencent Cloud's SCF",
    "service_healthy": "a condition of Docker Compose",
    "ssh": "a command of OpenSSH",
    "systemctl": "a command of systemd",
    "terminationGracePeriodSeconds": "a setting of Kubernetes",
}
PYTHON = Path(sysconfig.get_paths()["stdlib"])
THIS = Path(__file__).name
PAGES = [
    *sorted({*ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/_*/**/*.md")}),
    ROOT / "README.md",
]
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"(?<!`)\{[\w:]+\}`[^`]*`")  # but not the literal `{app}`
NAME = re.compile(r"[A-Za-z_][\w-]*")
LITERAL = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def words(text: str) -> set[str]:
    """Return the words of a text, and those that are joined by hyphens as a whole too."""
    return {*re.findall(r"\w+", text), *(each.strip("-") for each in re.findall(r"[\w-]+", text))}


@cache
def known() -> set[str]:
    """Return the words of our sources, of the packages that pages use, and of Python."""
    files = [file for pattern in SOURCES for file in ROOT.glob(pattern)]
    for name in PACKAGES:
        files += (Path(str(each.locate())) for each in metadata.files(name) or ())
    for name in MODULES:
        files += [*PYTHON.glob(f"{name}/**/*.py"), PYTHON / f"{name}.py"]
    found = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names, *EXCEPTIONS}
    for file in files:
        if file.is_file() and file.suffix not in {".mo", ".png", ".pyc"}:
            text = "" if file.name == THIS else file.read_text("utf-8", "replace")
            found |= words(f"{file} {text}")
    return found


def unknown(page: str) -> set[str]:
    """Return the names in the literals of a page that occur nowhere else."""
    own = words(" ".join(match[0] for match in FENCE.finditer(page)))
    literals = LITERAL.findall(ROLE.sub("", FENCE.sub("", page)))
    names = {name.strip("-") for _, text in literals for name in NAME.findall(text)}
    return names - own - known()


def lines(page: str, name: str) -> list[int]:
    """Return the lines in which a literal of a page has a name."""
    found = LITERAL.finditer(page)
    return [page.count("\n", 0, each.start()) + 1 for each in found if name in words(each[2])]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_each_name_of_a_page_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    found = [
        f"{page.relative_to(ROOT)}:{line}: no source has {name!r}"
        for name in sorted(unknown(text))
        for line in lines(text, name)
    ]
    says = f"Correct these, or give a reason in EXCEPTIONS of tests/docs/{THIS}:"
    assert not found, "\n".join([says, *found])
