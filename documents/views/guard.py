"""
The guard: who comes in. The order is the protocol: known user, CSRF, same user as the page thinks, permission, rate.

Somebody without permission learns nothing: not a version, not whether there is a document. Every answer is JSON,
a refusal of the CSRF check too, and never a redirect to a login page that `fetch` would take for success.

The views leave ATOMIC_REQUESTS: a save is its own transaction, so the conflict behind a 409 is committed before
the 409 is sent, and a save stays one statement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.db import OperationalError, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt

from documents.conf import setting
from documents.errors import DocumentsError, NotFound
from documents.kinds import DocumentKind, kinds
from documents.views.answers import answer, refusal, user_tag

__all__ = ["READ", "WRITE", "Handler", "endpoint"]

Handler = Callable[..., HttpResponse]
READ, WRITE, DELETE = "can_read", "can_write", "can_delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a method of an address does, and what one must be allowed for it."""

    handler: Handler
    needs: tuple[str, ...]


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check; a failure is a reason for us, not an HTML page."""

    def _reject(self, request: HttpRequest, reason: str) -> Any:
        return reason


def endpoint(**methods: tuple[Handler, *tuple[str, ...]]) -> Callable[..., HttpResponse]:
    """Return the view of one address: `endpoint(get=(read, READ), put=(save, WRITE))`."""
    rules = {name.upper(): Rule(handler=handler, needs=tuple(needs)) for name, (handler, *needs) in methods.items()}
    if "GET" in rules:
        rules["HEAD"] = rules["GET"]

    def view(request: HttpRequest, kind: str, key: str, **parts: Any) -> HttpResponse:
        response = _answered(request, rules, kind, key, parts)
        if request.method == "HEAD":
            response.content = b""
        response["Documents-User"] = user_tag(request)
        patch_vary_headers(response, ["Cookie"])
        return response

    return own_transactions(csrf_exempt(view))  # exempt from the HTML answer; the check itself is ours, below


def own_transactions(view: Handler) -> Handler:
    """Take a view out of ATOMIC_REQUESTS, whatever database documents are in."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


def _answered(request: HttpRequest, rules: dict[str, Rule], name: str, key: str, parts: dict[str, Any]) -> HttpResponse:
    rule = rules.get(request.method or "")
    if rule is None:
        allowed = ", ".join(sorted(rules))
        message = f"This address knows {allowed}."
        return answer({"code": "method_not_allowed", "message": message}, 405, Allow=allowed)
    kind = kinds().get(name)
    if (refused := _refused(request, kind, key, rule.needs)) is not None:
        return refused
    try:
        if kind is None:
            message = f"There is no kind {name!r} on this site."
            raise NotFound(message)
        if "\0" in key or len(key) > 200:
            message = "A key has 1 to 200 characters."
            raise NotFound(message)
        return rule.handler(request, kind, key, **parts)
    except DocumentsError as error:
        if error.status == 503:
            error.details.setdefault("retryAfter", setting("RETRY_AFTER"))
        return refusal(error)
    except OperationalError:  # a lock timeout, a serialization failure, a database that is restarting
        seconds = setting("RETRY_AFTER")
        busy = {"code": "busy", "message": "The database asks to come again.", "retryAfter": seconds}
        return answer(busy, 503, Retry_After=str(seconds))


def _refused(request: HttpRequest, kind: DocumentKind | None, key: str, needs: tuple[str, ...]) -> HttpResponse | None:
    known = request.user.is_authenticated
    if not known and (kind is None or kind.login_required):
        return _login_required()
    unsafe = request.method not in ("GET", "HEAD")
    if unsafe and (reason := _csrf_fault(request)):
        return answer(
            {"code": "csrf_failed", "message": f"{reason} Get a token from the address csrf/ and repeat."}, 403
        )
    page = request.headers.get("Documents-User")
    if page is not None and page != user_tag(request):
        return answer({"code": "other_user", "message": "Somebody else is logged in by now. Nothing was read."}, 403)
    if kind is None:
        return None
    if not all(getattr(kind, one)(request.user, key) for one in needs):
        forbidden = {"code": "forbidden", "message": "You may not do this here."}
        return answer(forbidden, 403) if known else _login_required()
    if unsafe and (seconds := kind.retry_after(request.user, key)):
        body: dict[str, Any] = {
            "code": "rate_limited",
            "message": f"Too many saves. Come again in {seconds} s.",
            "retryAfter": seconds,
        }
        return answer(body, 429, Retry_After=str(seconds))
    return None


def _login_required() -> HttpResponse:
    try:
        where = resolve_url(settings.LOGIN_URL)
    except NoReverseMatch:  # a project that logs in elsewhere
        where = str(settings.LOGIN_URL)
    return answer({"code": "login_required", "message": "Log in, then send this again.", "loginUrl": where}, 401)


def _csrf_fault(request: HttpRequest) -> str:
    check = _CsrfCheck(lambda _: HttpResponse())
    try:
        check.process_request(request)
        reason = check.process_view(request, _protected, (), {})
    except SuspiciousOperation as error:
        return str(error)
    return str(reason) if reason else ""


def _protected(request: HttpRequest) -> HttpResponse:
    """Stand for the view towards Django's check; the view itself is exempt from the middleware."""
    return HttpResponse()
