"""The shared desk of the example site: sheets and records that several people edit."""

from django.apps import AppConfig


class DeskConfig(AppConfig):
    name = "project.desk"
    label = "desk"
