"""What is compared between the two languages, text by text and page by page."""
