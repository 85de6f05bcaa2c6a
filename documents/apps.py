"""The `documents` app: versioned documents whose stale saves are refused and kept."""

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.core import checks
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import HttpRequest


class DocumentsConfig(AppConfig):
    name = "documents"
    verbose_name = _("Documents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .checks import check_kinds, check_settings

        checks.register(check_settings, "documents")
        checks.register(check_kinds, "documents")
        autodiscover_modules("documents")

    def desk_notices(self, request: "HttpRequest") -> list[tuple[str, str, bool]]:
        """Tell the operator's overview, where the site has one, how many conflicts wait for a decision."""
        from .admin.notices import notices

        return notices(request)
