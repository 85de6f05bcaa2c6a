"""Models of the suite's own app."""
