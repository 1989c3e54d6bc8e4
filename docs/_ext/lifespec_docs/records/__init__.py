"""What was measured: tables and charts from the records in docs/matrix."""
