"""Examples that run where they stand: Python in the reader's browser.

This folder is imported there, too: what it needs of Sphinx stands in `pages` and `playground`.
"""
