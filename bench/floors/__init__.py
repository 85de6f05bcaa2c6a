"""Floors: the least that a database, a driver or plain Django costs for the same guarantees."""
