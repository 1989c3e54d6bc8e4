"""Tries cases of the suite as its own tests do: on what is right, and on what is wrong."""

import sys
import tempfile
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

from journal import ROOT

__all__ = ["noticed"]

FAULTS = ("fail", "warn", "info", "skip")
REFERENCE = ROOT / "docs" / "programs" / "serve.py"


def _of_mutants(name: str) -> ModuleType:
    """Import a module of tests/mutants, whose names others have too."""
    path = ROOT / "tests" / "mutants" / f"{name}.py"
    if (known := sys.modules.get(f"mutants_{name}")) is not None:
        return known
    spec = util.spec_from_file_location(f"mutants_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def noticed(case: Any, slugs: set[str]) -> tuple[str, str]:
    """Say what tells that a case is wrong: what is right breaks a rule, what is wrong none."""
    try:
        told = {
            "application": _application,
            "middleware": _middleware,
            "server": _server,
        }[case.party](case, slugs)
    except Exception as error:  # noqa: BLE001  the suite would end with it
        told = f"{type(error).__name__}: {error}"
    return "run", told


def _application(case: Any, slugs: set[str]) -> str:
    from lifespec.conformance import applications  # noqa: PLC0415  it is what changed
    from lifespec.conformance.cases import rules  # noqa: PLC0415

    module = _of_mutants("applications")
    for app in module.CORRECT:
        for dialect in ("asgi 2.0", "pagi 0.3", "asgi 1.0"):
            found = applications.check(app, dialect)
            wrong = [
                each for each in found.findings if each.case == case.name and each.verdict in FAULTS
            ]
            if [each for each in wrong if dialect != "asgi 1.0" or each.slug != "events-known"]:
                return f"{app.__name__} breaks {wrong[0].slug} in {case.name}."
    for slug in slugs:
        for app in module.MUTANTS.get(slug, ()):
            limit = 0.5 if app.__name__ == "waits_for_ever" else 30
            found = applications.check(app, "asgi 2.0", limit=limit).findings
            broken = _broken(list(found))
            if slug not in broken or not broken <= {slug, *rules()[slug].implies}:
                return f"{app.__name__} is not named by {slug}, but by {sorted(broken)}."
    return ""


def _middleware(case: Any, slugs: set[str]) -> str:
    from lifespec import validator  # noqa: PLC0415
    from lifespec.conformance import middleware  # noqa: PLC0415

    for right in (lambda app: app, validator):
        for each in middleware.check(right, "asgi 2.0").findings:
            if each.case == case.name and each.verdict in FAULTS:
                return f"What is right breaks {each.slug} in {case.name}."
    mutants = _of_mutants("middlewares").MUTANTS
    for slug in slugs:
        for wrong in mutants.get(slug, ()):
            broken = _broken(list(middleware.check(wrong, "asgi 2.0").findings))
            if broken != {slug}:
                return f"{wrong.__name__} is not named by {slug}, but by {sorted(broken)}."
    return ""


def _server(case: Any, slugs: set[str]) -> str:
    from lifespec.conformance import servers  # noqa: PLC0415
    from lifespec.conformance.cases import rules  # noqa: PLC0415

    module = _of_mutants("servers")
    mutants = module.MUTANTS

    def found(program: Path, cases: Any, dialect: str = "asgi 2.0") -> list[Any]:
        workers = ("--workers", "{workers}") if dialect in module.BEFORE else ()
        command = (sys.executable, str(program), "{app}", "--port", "{port}", *workers)
        return list(servers.check(servers.Job(command, dialect, limit=5.0), cases).findings)

    known = [one for one in servers.chosen() if one.name == case.name and one.workers == 1]
    for each in found(REFERENCE, known) if known else ():
        if each.verdict in FAULTS:
            return f"The reference breaks {each.slug} in {case.name}: {each.actual}"
    for slug in sorted(slugs & set(mutants)):
        judging = [one for one in servers.chosen() if slug in {each.slug for each in one.expect}]
        others = [one for one in judging if one.name != case.name]
        with tempfile.TemporaryDirectory() as folder:
            text, program = mutants[slug].dialect, mutants[slug].written(Path(folder))
            if any(_broken(found(program, [one], text)) >= {slug} for one in others):
                continue  # another case tells
            changed = [one for one in judging if one.name == case.name]
            broken = _broken(found(program, changed, text))
        if slug not in broken or not broken <= {slug, *rules()[slug].implies}:
            return f"The mutant of {slug} is not named by it, but by {sorted(broken)}."
    return ""


def _broken(findings: list[Any]) -> set[str]:
    return {each.slug for each in findings if each.verdict in FAULTS[:3]}
