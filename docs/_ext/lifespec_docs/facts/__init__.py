"""Facts: what a page takes from code and data, and what the build looks up there."""
