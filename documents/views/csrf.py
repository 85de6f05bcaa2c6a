"""A fresh CSRF token, for a page whose login was renewed in another tab. Works with CSRF_USE_SESSIONS too."""

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.views.decorators.csrf import ensure_csrf_cookie

from documents.views.answers import answer, user_tag

__all__ = ["csrf"]


@ensure_csrf_cookie
def csrf(request: HttpRequest) -> HttpResponse:
    """GET: the token to send as X-CSRFToken, and whose session this is."""
    if request.method not in ("GET", "HEAD"):
        return answer({"code": "method_not_allowed", "message": "This address knows GET."}, 405, Allow="GET, HEAD")
    response = answer({"csrfToken": get_token(request), "user": user_tag(request)})
    response["Cache-Control"] = "no-store"
    return response
