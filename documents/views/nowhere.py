"""Every other address below ours: JSON, so that a page never reads an HTML 404 as an answer to a save."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from documents.views.answers import answer

__all__ = ["nowhere"]


@csrf_exempt
def nowhere(request: HttpRequest, **parts: Any) -> HttpResponse:
    """Any method: 404."""
    return answer({"code": "not_found", "message": "There is no such address; each of ours ends with a slash."}, 404)
