"""A block of a page that runs, as the page has it; `page` finds them."""

from dataclasses import dataclass

TRACEBACK = "Traceback (most recent call last):"  # the line from which an output shows an exception


@dataclass(frozen=True, slots=True)
class Block:
    """A block that runs: `source` begins in line `line` of the file `page`.

    `output` is the text that the page shows below the block, from line `output_line` on, or None;
    a new one would be inserted at that line. `kind` is "program", "session", "check" or "process",
    `files` has names and texts of the files that a process finds, `indent` stands before each line,
    and `locale` is that of a shell.
    """

    page: str
    line: int
    kind: str
    source: str
    language: str = "python"
    classes: tuple[str, ...] = ()
    output: str | None = None
    output_line: int = 0
    files: tuple[tuple[str, str], ...] = ()
    libraries: tuple[str, ...] = ()
    indent: str = ""
    locale: str = "C.UTF-8"

    def classed(self, prefix: str) -> list[str]:
        """Return what follows a prefix in the classes."""
        return [each.removeprefix(prefix) for each in self.classes if each.startswith(prefix)]
