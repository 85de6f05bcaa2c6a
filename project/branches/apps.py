"""Resetting the development branch of a Neon project to its parent."""

from django.apps import AppConfig


class BranchesConfig(AppConfig):
    name = "project.branches"
    label = "branches"
