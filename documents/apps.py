"""The `documents` app: versioned documents whose stale saves are refused and kept."""

from django.apps import AppConfig
from django.core import checks
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class DocumentsConfig(AppConfig):
    name = "documents"
    verbose_name = _("Documents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .checks import check_kinds, check_settings

        checks.register(check_settings, "documents")
        checks.register(check_kinds, "documents")
        autodiscover_modules("documents")
