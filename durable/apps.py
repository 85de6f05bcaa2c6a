"""The `durable` app. Importing it, and starting Django with it, never touches the database."""

from importlib import import_module

from django.apps import AppConfig, apps
from django.conf import settings
from django.utils.module_loading import autodiscover_modules


class DurableConfig(AppConfig):
    name = "durable"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import checks, logs  # noqa: F401 - checks register themselves

        logs.connect()
        autodiscover_modules(
            "outbox", "plans", "polling", "passes"
        )  # what each app registers, so that every worker knows it
        if apps.is_installed("django.contrib.admin"):
            import_module("durable.adminplans")  # beside durable.admin, which the admin finds by itself
        # From Django 6.1 on, a project with MAILERS has no EMAIL_BACKEND.
        mailers = getattr(settings, "MAILERS", None)
        named = {settings.EMAIL_BACKEND} if mailers is None else {one.get("BACKEND", "") for one in mailers.values()}
        for module in sorted({name.rpartition(".")[0] for name in named if name.startswith("durable.contrib.")}):
            import_module(module)
