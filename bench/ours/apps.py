"""The bench's own Django app."""

from django.apps import AppConfig

__all__ = ["OursConfig"]


class OursConfig(AppConfig):
    name = "bench.ours"
    label = "bench_ours"
