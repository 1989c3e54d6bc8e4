"""The public names of the packages, which are imported when they are used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lifespec
from lifespec import testing

if TYPE_CHECKING:
    from types import ModuleType

PACKAGES = lifespec, testing


@pytest.mark.parametrize("package", PACKAGES)
def test_each_public_name_is_found_where_it_is_defined(package: ModuleType) -> None:
    for name in package.__all__:
        module = importlib.import_module(getattr(package, name).__module__)
        assert getattr(module, name) is getattr(package, name)
    assert {*package.__all__} <= {*dir(package)}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_none_is_refused(package: ModuleType) -> None:
    with pytest.raises(
        AttributeError, match=rf"^module '{package.__name__}' has no attribute 'a'$"
    ):
        _ = package.a


def test_the_import_loads_nothing_else() -> None:
    """A server that imports it waits for no report, no event loop and no package of others."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import lifespec.testing; print(*sys.modules)"
    )
    source = Path(lifespec.__file__).parents[1]
    command = [sys.executable, "-I", "-S", "-c", program, str(source)]
    loaded = set(subprocess.check_output(command, text=True).split())
    ours = {name for name in loaded if name.startswith("lifespec")}
    assert ours == {"lifespec", "lifespec.lazy", "lifespec.testing"}
    assert {name.split(".")[0] for name in loaded - ours} <= {*sys.stdlib_module_names, "__main__"}
    assert "asyncio" not in loaded
