"""Runs the blocks of the pages under pytest; Sphinx has no part in it."""
