"""A person whose deletion has begun sees its progress and nothing else, wherever they are signed in."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from .models import AccountDeletion
from .progress import address_of

__all__ = ["PendingDeletionMiddleware"]

OPEN_TO_ALL = {"progress", "logout", "set_language"}


class PendingDeletionMiddleware:
    """Redirect blocked people, before any view of the site has done anything for them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if request.resolver_match.view_name in OPEN_TO_ALL:
            return None
        # Django asks the database here on every request, so the flag is as fresh as the transaction that set it.
        if not getattr(request.user, "deletion_pending_at", None):
            return None
        # A script that asks for JSON would take the page behind a redirect for its answer.
        if "documents" in request.resolver_match.app_names or not request.accepts("text/html"):
            said = _("This account is being deleted. Nothing is saved any more.")
            return JsonResponse({"code": "forbidden", "message": said}, status=403)
        deletion = AccountDeletion.objects.filter(user_id=request.user.pk).order_by("-created_at").first()
        if deletion is None:
            raise PermissionDenied(_("This account is closed."))
        return redirect(address_of(deletion))
