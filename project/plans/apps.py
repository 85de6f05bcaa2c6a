"""Plans of the example site: proposed by an assistant or a person, read and decided by staff."""

from django.apps import AppConfig


class PlansConfig(AppConfig):
    name = "project.plans"
    label = "plans"
