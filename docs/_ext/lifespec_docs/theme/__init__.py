"""The site: navigation between the languages, notes that unfold, colours of code."""
