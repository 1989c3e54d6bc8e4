"""The files that are made to be copied, and what a copy says of its origin."""

from __future__ import annotations

from importlib import metadata, resources

__all__ = ["content"]

END = '\n"""\n'  # of the docstring of a module


def content(name: str) -> str:
    """Return a file of this package; its docstring ends with version, licence and oldest Python.

    Raises OSError if this installation does not have it.
    """
    text = resources.files("lifespec").joinpath(f"{name}.py").read_text("utf-8")
    docstring, code = text.split(END, 1)
    return f"{docstring}\n{_origin()}{END}{code}"


def _origin() -> str:
    try:
        about = metadata.metadata("lifespec")
    except metadata.PackageNotFoundError:
        return "SPDX-License-Identifier: 0BSD"
    lines = [f"From lifespec {about['Version']}, for Python {about['Requires-Python']}."]
    for url in about.get_all("Project-URL") or ():
        label, _, address = url.partition(", ")
        if label == "Documentation":
            lines.append(f"The rules: {address.rstrip('/')}/en/rules.html")
    return "\n".join([*lines, f"SPDX-License-Identifier: {about['License-Expression']}"])
