"""What the suite is made of: the rules, as data."""

__all__: list[str] = []
