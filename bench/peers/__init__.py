"""Peers: what a reader would pick instead, each with the settings its own documentation recommends for speed."""
