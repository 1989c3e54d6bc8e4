"""The old names of the words of our directives."""
