"""The rules: their boxes, their tables, and what the command shows of them."""
