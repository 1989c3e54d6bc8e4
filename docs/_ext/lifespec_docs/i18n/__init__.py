"""The Chinese edition: comments of code, catalogs, and what is compared."""
