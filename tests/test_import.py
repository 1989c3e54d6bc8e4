"""What `import lifespec` loads."""

import subprocess
import sys
from pathlib import Path

import lifespec

__all__: list[str] = []

SRC = Path(lifespec.__file__).parents[1]


def test_the_root_loads_the_standard_library_only() -> None:
    """A server that imports it waits for no report, no table and no package of others."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import lifespec; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", program, str(SRC)]
    loaded = set(subprocess.check_output(command, text=True).split())
    others = {name.split(".")[0] for name in loaded} - {"lifespec", "__main__"}
    assert others <= sys.stdlib_module_names
    assert not [name for name in loaded if name.startswith("lifespec.conformance")]
