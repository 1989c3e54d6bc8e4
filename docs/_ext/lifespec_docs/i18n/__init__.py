"""The Chinese edition: catalogs, and what is compared."""
