"""Run the blocks of the pages under pytest, without Sphinx."""
