"""Prints all that the module that is named exports: tables, types, what functions take."""

import importlib
import inspect
import json
import sys
from collections.abc import Mapping

__all__: list[str] = []

if sys.flags.isolated:
    sys.path.insert(0, "")  # -I leaves out the folder in which the copy lies
module = importlib.import_module(sys.argv[1])


def plain(value):
    """Turn what is exported into what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, type):
        keys = [sorted(getattr(value, f"__{kind}_keys__", ())) for kind in ("required", "optional")]
        return [value.__name__, plain(getattr(value, "__annotations__", {})), *keys]
    if callable(value) and hasattr(value, "__code__"):
        return str(inspect.signature(value))
    return value if isinstance(value, (str, int, float, type(None))) else repr(value)


found = {name: plain(getattr(module, name)) for name in module.__all__}
for text in getattr(module, "SPECS", ()):
    found[f"scope of {text}"] = module.lifespan_scope(text)
if hasattr(module, "validator"):

    async def app(scope, receive, send):
        await send({"type": "lifespan.ready"})

    async def send(message):
        raise ValueError

    validated = module.validator(app)
    try:
        validated({"type": "lifespan", "state": 1}, None, send).send(None)
    except ValueError:
        found["validated"] = [str(each) for each in (*validated.violations, *validated.warnings)]

sys.stdout.write(json.dumps(found).replace("lifespec.", ""))
