"""Notifications of the example site."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "project.notifications"
