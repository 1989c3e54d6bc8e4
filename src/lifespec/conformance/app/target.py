"""Find the application or middleware that is checked, such as `shop.main:app`."""

import difflib
import functools
import importlib
import inspect
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from lifespec.conformance.app.loops import needs_trio
from lifespec.conformance.cases import Role
from lifespec.diagnosis import stacks
from lifespec.diagnosis.advice import on_error
from lifespec.diagnosis.author import described, own_package
from lifespec.diagnosis.fact import Fact, fact
from lifespec.words import Explained, short_repr

MOST_OTHERS = 5  # names of what a module has
_MISSING = object()


class NotFound(Explained):
    """There is no application or middleware to check; `fact` says why.

    `printed` are the last lines that its import has printed.
    """

    printed: tuple[str, ...] = ()


class Job(NamedTuple):
    """What is checked: a name, a command (its words) or an object; by a specification.

    `limit` is in seconds.
    """

    role: Role
    subject: Any
    spec: str
    limit: float
    factory: bool = False

    @property
    def name(self) -> str:
        """The name of the subject."""
        subject = self.subject
        if isinstance(subject, str):
            return subject
        if isinstance(subject, tuple):
            return shlex.join(subject)
        return str(getattr(subject, "__qualname__", type(subject).__qualname__))

    def find(self) -> Callable[..., Any]:
        """Return the subject; raise NotFound where it cannot be had."""
        subject = self.subject
        if isinstance(subject, str):
            subject = _resolved(subject, factory=self.factory)
        if inspect.iscoroutine(subject):
            raise NotFound(fact("not-awaited", target=self.name, function=subject.__qualname__))
        if not callable(subject):
            raise NotFound(fact("not-callable", target=self.name, value=short_repr(subject)))
        if self.role == "application":
            _check_signature(subject)
        # what takes one argument as well is middleware, and the other two are its options
        elif _takes(subject, {}, None, None) and not _takes(subject, None):
            raise NotFound(fact("is-application", target=self.name))
        return subject  # type: ignore[no-any-return]


@functools.cache  # a process that is forked from this one has it
def _resolved(target: str, *, factory: bool) -> Any:
    """Return what a target names, or with `factory` makes."""
    module, _, path = target.partition(":")
    if path.endswith("()"):
        raise NotFound(fact("called-in-name", target=target, wanted=target[:-2]))
    if not module or not _is_dotted(path):  # such as "shop.main" and "shop/main.py"
        wanted = "shop.main:app" if path else _with_attribute(module)
        raise NotFound(fact("no-attribute-named", target=target, wanted=wanted))
    if module.endswith(".py") or not _is_dotted(module):
        wanted = f"{_as_module(module)}:{path}"
        raise NotFound(fact("no-module-name", module=module, wanted=wanted))
    own_package(module)  # before the import, in which calls are noted as the author's or not
    subject: Any = _attempt(lambda: importlib.import_module(module), f"import {module}", target)
    for name in path.split("."):
        owner = subject
        subject = _attempt(functools.partial(getattr, owner, name, _MISSING), target)
        if subject is _MISSING:
            raise NotFound(_no_attribute(name, owner))
    if not factory or not callable(subject):
        return subject
    # what takes no arguments as well may be either, and `--factory` says which
    if _takes(subject, {}, None, None) and not _takes(subject):
        raise NotFound(fact("made-already", target=target))
    return _attempt(subject, f"{target}()")


def _with_attribute(name: str) -> str:
    """Return what may be meant by a name, or a path, that has no attribute."""
    if name.endswith(".py"):
        return f"{_as_module(name)}:app"
    if not _is_dotted(name):
        return "shop.main:app"
    module, _, attribute = name.rpartition(".")
    path = Path(name.replace(".", "/"))
    if not module or path.is_dir() or path.with_suffix(".py").exists():
        return f"{name}:app"
    return f"{module}:{attribute}"


def _as_module(path: str) -> str:
    """Return the name of the module in a file."""
    return path.removesuffix(".py").replace("/", ".").strip(".")


def _is_dotted(name: str) -> bool:
    """Tell whether a name is one that `import` takes, such as `shop.main`."""
    return all(part.isidentifier() for part in name.split("."))


def _no_attribute(name: str, owner: Any) -> Fact:
    """Return that an object has no attribute of this name, and what may be meant."""
    owner_name = getattr(owner, "__name__", None) or short_repr(owner)
    is_module = isinstance(owner, ModuleType)
    if is_module:
        if getattr(owner, "__file__", None) is None:  # a namespace package
            return _in_folder(name, owner)
    near = difflib.get_close_matches(name, dir(owner), n=3)
    if near:
        return fact("no-attribute-near", name=name, owner=owner_name, near=tuple(near))
    others = []
    if is_module:
        for other, value in vars(owner).items():
            if _may_be_meant(other, value, owner_name):
                others.append(other)
    if others:
        named = tuple(others[:MOST_OTHERS])
        return fact("no-attribute-other", name=name, owner=owner_name, others=named)
    return fact("no-attribute", name=name, owner=owner_name)


def _may_be_meant(name: str, value: Any, module: str) -> bool:
    """Tell whether what a module has may be an application, or may make one.

    The class of an application is often a framework's; a function that makes one is the author's.
    """
    if name.startswith("_"):
        return False
    if inspect.isclass(value) or not callable(value):
        return False
    if not inspect.isroutine(value):
        return _takes(value, {}, None, None)
    if inspect.isasyncgenfunction(inspect.unwrap(value)):  # a lifespan
        return False
    if value.__module__ == module:
        return True
    # a function that was imported may be the author's, of another module
    written_in = getattr(sys.modules.get(value.__module__), "__file__", None)
    return written_in is not None and stacks.is_own(written_in)


def _takes(function: Callable[..., Any], *arguments: Any) -> bool:
    """Tell whether something can be called with these arguments, as far as it says so."""
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError):  # ValueError: what is written in C may have no signature
        return False
    return True


def _in_folder(name: str, package: ModuleType) -> Fact:
    """Return that a folder was imported as if it were a module, and which modules it has."""
    folder = Path(next(iter(package.__path__)))
    owner = package.__name__
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem.isidentifier())
    if not modules:
        return fact("is-folder-bare", owner=owner)
    module = modules[0]
    # a folder may be full of modules: one of these most often has the application
    for usual in ("app", "main", owner.rpartition(".")[2]):  # the last one that is there
        if usual in modules:
            module = usual
    wanted = f"{owner}.{module}:{name}"
    return fact("is-folder", owner=owner, name=name, folder=folder.name, wanted=wanted)


def _attempt(get: Callable[[], Any], what: str, target: str = "") -> Any:
    """Return what this returns, of an import of a target; raise NotFound for what it raises."""
    module = target.partition(":")[0]
    try:
        return get()
    except BaseException as error:  # a module may end itself with SystemExit
        if isinstance(error, ModuleNotFoundError):
            if error.name:  # code that raises it by hand need not name a module
                _raise_for_missing(error.name, module, target)
        raised = described(error)
        if needs_trio(raised):
            raise NotFound(Fact("needs-trio-installed")) from None
        why = fact("import-raised", what=what, error=raised.fact())
        advice = on_error(raised)
        if advice:
            why = fact("advised", what=why, advice=advice)
        raise NotFound(why) from None


def _raise_for_missing(missing: str, module: str, target: str) -> None:
    """Raise NotFound if the missing module is the target's, or this folder's."""
    if f"{module}.".startswith(f"{missing}."):
        raise NotFound(fact("no-module", name=missing)) from None
    here = Path.cwd().name
    if module and missing.partition(".")[0] == here:  # it is run inside of the package
        wanted = f"{here}.{target}"
        raise NotFound(fact("inside-package", module=module, name=here, wanted=wanted)) from None


def _check_signature(app: Callable[..., Any]) -> None:
    """Raise NotFound for what cannot be called with scope, receive and send."""
    try:
        signature = inspect.signature(app)
    except (TypeError, ValueError):  # it does not say what it can be called with
        return
    if _takes(app, {}, None, None):
        return
    if inspect.isclass(app):
        raise NotFound(fact("is-class", name=app.__name__))
    if inspect.isasyncgenfunction(inspect.unwrap(app)):
        raise NotFound(fact("is-lifespan", name=app.__name__))
    if _takes(app, None, None):
        raise NotFound(Fact("takes-two"))
    raise NotFound(fact("no-application-signature", parameters=_bare(signature)))


def _bare(signature: inspect.Signature) -> str:
    """Return the names of parameters as they are written, without their types and defaults."""
    nothing = inspect.Parameter.empty
    parameters = []
    for parameter in signature.parameters.values():
        parameters.append(parameter.replace(default=nothing, annotation=nothing))
    return str(inspect.Signature(parameters))
