"""Let pytest run the blocks of the pages."""

from lifespec_pages.plugin import *  # noqa: F403  its hooks

collect_ignore_glob = ["_*", "matrix", "programs"]
