"""Puts `trial` on the path of the tests in the folders below."""
