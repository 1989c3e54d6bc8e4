"""The examples of the pages: they run, and what they print is compared."""
