"""What the suite is made of: the rules, as data."""
