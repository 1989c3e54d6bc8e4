"""The search of the site: an index of its sections, and the page that shows what is found."""
