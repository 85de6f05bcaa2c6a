"""
Pages of the desk: what is there, a sheet, a record. They hold no content; the session in the page fetches it.

A page that carried content would be restored by the browser with an old version in it.
"""

import re

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from documents.models import Document

KEY = re.compile(r"[\w][\w .-]{0,79}")
NEW = {"sheet": {"cells": {}}, "record": {"title": "", "attributes": []}}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@login_required
@require_http_methods(["GET", "POST"])
def desk(request: HttpRequest) -> HttpResponse:
    """List sheets and records, newest first; a POST opens a new one under the name that was typed."""
    fault = ""
    if request.method == "POST":
        kind, key = request.POST.get("kind", ""), request.POST.get("key", "").strip()
        if kind in NEW and KEY.fullmatch(key):
            return redirect(f"desk:{kind}", key=key)
        fault = _("A name has 1 to 80 letters, digits, spaces, dots or dashes.")
    there = Document.objects.filter(kind__in=NEW, deleted_at=None).order_by("-saved_at")[:50]
    return _page(request, "desk/desk.html", {"documents": there, "fault": fault, "typed": request.POST.get("key", "")})


@login_required
def sheet(request: HttpRequest, key: str) -> HttpResponse:
    """Show one sheet."""
    return _document(request, "sheet", key)


@login_required
def record(request: HttpRequest, key: str) -> HttpResponse:
    """Show one record."""
    return _document(request, "record", key)


def _document(request: HttpRequest, kind: str, key: str) -> HttpResponse:
    if not KEY.fullmatch(key):
        raise Http404
    return _page(request, f"desk/{kind}.html", {"key": key, "new": NEW[kind]})


def _page(request: HttpRequest, template: str, context: dict) -> HttpResponse:
    response = render(request, template, context)
    response["Content-Security-Policy"] = POLICY
    return response
