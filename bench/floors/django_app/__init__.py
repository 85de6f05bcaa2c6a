"""Models over the floor's own tables, for the loop that is written with the ORM."""
