"""Us: the contender that this repository is about, with a small Django project of its own."""
