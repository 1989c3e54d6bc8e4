"""What was found, and the forms in which it is told: terminal, JSON, JUnit."""
