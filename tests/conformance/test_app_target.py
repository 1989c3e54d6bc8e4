"""What a TARGET names, and what is said where it names nothing."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifespec.conformance.app.target import find
from lifespec.conformance.cases import Unchecked

__all__: list[str] = []

SHOP = """
class Shop:
    async def serve(self, scope, receive, send): ...
    def broken(self): raise OSError("no disk")
    def leaves(self): raise SystemExit
    def hangs(self):
        while True: pass
    def number(self): return 42
    value = 42

shop = Shop()
number = 42
"""

MARKET = """
class Framework:
    async def __call__(self, scope, receive, send): ...

async def main(scope, receive, send): ...
async def index(request): ...
def setup(one, two, three): ...
framework = Framework()
number = 42
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Write modules into the current folder; forget them afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def written(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    written("bazaar.py", SHOP)
    yield written
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def refusal(write: object) -> Callable[..., str]:
    """Return why a target is refused."""

    def said(target: str, *, factory: bool = False, limit: float = 10.0) -> str:
        with pytest.raises(Unchecked) as error:
            find(target, factory=factory, limit=limit)
        assert "\n" not in str(error.value)
        return str(error.value)

    return said


def test_an_attribute_of_a_module(write: Callable[[str, str], None]) -> None:
    """The current folder is on the path; attributes of attributes are found."""
    found = find("bazaar:shop.serve")
    assert found.__qualname__ == "Shop.serve"
    assert find("bazaar:Shop").__name__ == "Shop"
    assert sys.path[0] == ""
    assert find("bazaar:Shop") is find("bazaar:Shop")
    assert sys.path.count("") == 1
    write("mall/__init__.py", "")
    write("mall/shop.py", "async def app(scope, receive, send): ...")
    assert find("mall.shop:app").__name__ == "app"


def test_what_a_factory_makes(write: Callable[[str, str], None]) -> None:
    """With factory, what is named is called without arguments."""
    write("made.py", "def make():\n    async def app(*_): ...\n    return app\n")
    assert find("made:make", factory=True).__name__ == "app"


@pytest.mark.parametrize("target", ["shop", "shop:", ":app", "", "shop:a b", "shop:a..b", "a:b:c"])
def test_a_target_that_names_no_attribute(target: str, refusal: Callable[..., str]) -> None:
    """The sentence has what was given, and what to give."""
    wanted = "has no attribute: give module:attribute, as in shop.main:app"
    assert refusal(target) == f"{target!r} {wanted}"


@pytest.mark.parametrize(
    ("target", "given", "wanted"),
    [
        ("shop.py:app", "shop.py", "shop:app"),
        ("./src/shop.py:app", "./src/shop.py", "src.shop:app"),
        ("my-shop:app", "my-shop", "my-shop:app"),
    ],
)
def test_a_file_instead_of_a_module(
    target: str, given: str, wanted: str, refusal: Callable[..., str]
) -> None:
    """A path is answered with the name that it may have meant."""
    assert refusal(target) == f"{given!r} is not a module name: give {wanted}"


def test_a_module_that_is_not_there(
    write: Callable[[str, str], None], refusal: Callable[..., str]
) -> None:
    """The part that is missing is named; one that the module itself misses is told as its own."""
    what = "call the command in the folder that has it, or name it as it is imported"
    assert refusal("bazar:app") == f"there is no module 'bazar': {what}"
    assert refusal("no.such:app") == f"there is no module 'no': {what}"
    write("mall/__init__.py", "")
    assert refusal("mall.shop:app") == f"there is no module 'mall.shop': {what}"
    write("broken.py", "import nosuchmodule")
    assert refusal("broken:app") == (
        "`import broken` raised ModuleNotFoundError: No module named 'nosuchmodule':"
        " make it work in `python -c` first"
    )


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit", "SystemExit"),
        ("import sys; sys.exit('no\\nconfiguration')", "SystemExit: no / configuration"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_an_import_that_raises(
    text: str, raised: str, write: Callable[[str, str], None], refusal: Callable[..., str]
) -> None:
    """Whatever a module raises is a sentence; an exit too."""
    write("raising.py", text)
    wanted = f"`import raising` raised {raised}: make it work in `python -c` first"
    assert refusal("raising:app") == wanted


def test_an_import_that_hangs(
    write: Callable[[str, str], None], refusal: Callable[..., str]
) -> None:
    """An import has a limit."""
    write("hanging.py", "while True: pass")
    assert refusal("hanging:app", limit=0.2) == (
        "hanging:app was not imported within 0.2 s: let its module import faster, or give a longer"
        " --timeout"
    )


def test_an_attribute_that_is_not_there(refusal: Callable[..., str]) -> None:
    """Those with a similar name are told."""
    said = refusal("bazaar:shap")
    assert said == "bazaar:shap: there is no 'shap' in bazaar; it has shop"
    assert refusal("bazaar:shop.xyz").endswith("; name one that it has")
    assert refusal("bazaar:xyz").endswith("; name one that it has")


def test_applications_are_told_if_no_name_is_similar(
    write: Callable[[str, str], None], refusal: Callable[..., str]
) -> None:
    write("market.py", MARKET)
    assert refusal("market:nosuch").endswith("; its applications are main, framework")


def test_what_cannot_be_called(refusal: Callable[..., str]) -> None:
    """A value is no application, and neither is what a factory makes of it."""
    what = "which cannot be called: name an application"
    assert refusal("bazaar:number") == f"bazaar:number is 42, {what}"
    assert (
        refusal("bazaar:shop.number", factory=True)
        == f"what bazaar:shop.number makes is 42, {what}"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "`bazaar:shop.broken()` raised OSError: no disk: make it"),
        ("leaves", "`bazaar:shop.leaves()` raised SystemExit: make it"),
        ("hangs", "bazaar:shop.hangs was not imported within 0.2 s"),
        ("value", "`bazaar:shop.value()` raised TypeError: 'int' object is not callable"),
    ],
)
def test_a_factory_that_fails(name: str, said: str, refusal: Callable[..., str]) -> None:
    """What a factory raises is a sentence, too, and it has the same limit."""
    assert refusal(f"bazaar:shop.{name}", factory=True, limit=0.2).startswith(said)


ODD = """
class Odd(Exception):
    def __repr__(self): raise ValueError
    __str__ = __repr__

class App(Odd):
    async def __call__(self, scope, receive, send): ...

app, number = App(), Odd()
def raises(): raise Odd
def __getattr__(name):
    if name == "leaves": raise SystemExit(3)
    if name == "hangs":
        while True: pass
    raise OSError("no " + name)
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [("any", "raised OSError: no any: make it"), ("leaves", "raised SystemExit: 3: make it")],
)
def test_a_module_that_looks_its_names_up(
    name: str, said: str, write: Callable[[str, str], None], refusal: Callable[..., str]
) -> None:
    """What its `__getattr__` raises is told, and it has the limit of the import."""
    write("odd.py", ODD)
    told = refusal(f"odd:{name}")
    assert told.startswith("`getattr(<module 'odd' from ")
    assert f", '{name}')` {said}" in told
    assert refusal("odd:hangs", limit=0.2).startswith("odd:hangs was not imported within 0.2 s")
