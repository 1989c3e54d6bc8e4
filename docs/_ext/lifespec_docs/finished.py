"""What follows a build of pages; after one that failed there is nothing to be sure of."""

from collections.abc import Callable

from sphinx.application import Sphinx

__all__ = ["then"]


def then(app: Sphinx, write: Callable[[Sphinx], None], priority: int = 500) -> None:
    """Call `write` when all pages have been written."""

    def finished(app: Sphinx, exception: Exception | None) -> None:
        if app.builder.format == "html" and not exception:
            write(app)

    app.connect("build-finished", finished, priority=priority)
