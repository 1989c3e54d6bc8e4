"""The public names of the packages, which are imported when they are used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lifespec
from lifespec import testing

if TYPE_CHECKING:
    from types import ModuleType

__all__: list[str] = []

PACKAGES = lifespec, testing


@pytest.mark.parametrize("package", PACKAGES)
def test_each_public_name_is_found_where_it_is_defined(package: ModuleType) -> None:
    for name in package.__all__:
        module = importlib.import_module(getattr(package, name).__module__)
        assert name in module.__all__
    assert {*package.__all__} <= {*dir(package)}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_none_is_refused(package: ModuleType) -> None:
    with pytest.raises(
        AttributeError, match=rf"^module '{package.__name__}' has no attribute 'a'$"
    ):
        _ = package.a


def test_the_import_loads_nothing_else() -> None:
    program = "import sys; import lifespec.testing; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-I", "-c", program], text=True).split()
    ours = {name for name in loaded if name.startswith("lifespec")}
    assert ours == {"lifespec", "lifespec.lazy", "lifespec.testing"}
    assert "asyncio" not in loaded
