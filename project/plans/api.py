"""
The JSON endpoints: propose, read, approve, reject.

200 with the answer from receipts; 409 `proposal_in_flight`, `proposal_expired`, `proposal_rejected`, `proposal_failed`,
`proposal_already_decided`, `proposal_changed`, with the plan in every body: whoever lost a race sees what the winner did.
"""

import functools
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from durable import KeyConflict, plans

from .asking import answered, body_of, plan_for, problem

__all__ = ["approve", "plan", "propose"]


def for_programs(view):
    """Tell everything in JSON: no login page, no error page."""

    @never_cache
    @functools.wraps(view)
    def told(request: HttpRequest, **args: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return problem(401, "login_required", "Sign in first.")
        try:
            return view(request, **args)
        except Http404:
            return problem(404, "not_found", "There is no such plan.")
        except plans.NotAllowed as error:
            return problem(403, "forbidden", str(error))

    return told


@require_http_methods(["POST"])
@for_programs
def propose(request: HttpRequest) -> JsonResponse:
    """`{"title": "…", "key": "…", "steps": [["contact.rename", {…}], …]}` → 201 with the plan, or 422 with every issue."""
    body = body_of(request)
    if isinstance(body, JsonResponse):
        return body
    try:
        made = plans.propose(
            body.get("steps"), by=request.user, title=body.get("title", ""), key=body.get("key"),
        )  # fmt: skip
    except plans.NotProposed as refused:
        issues = [{"position": one.position, "place": one.place, "message": one.message} for one in refused.issues]
        return problem(422, "invalid_plan", str(refused), issues=issues)
    except KeyConflict as conflict:
        return problem(409, "key_conflict", str(conflict))
    return answered(made, 201)


@require_http_methods(["GET", "DELETE"])
@for_programs
def plan(request: HttpRequest, pk: Any) -> JsonResponse:
    """Read a plan as it stands, or (DELETE) reject it."""
    found = plan_for(request.user, pk)
    if request.method == "GET":
        return answered(found)
    ruling = found.reject(by=request.user, reason=request.GET.get("reason", "")[:500])
    return answered(found) if ruling else _lost(found, ruling)


@require_http_methods(["POST"])
@for_programs
def approve(request: HttpRequest, pk: Any) -> JsonResponse:
    """
    Approve a plan and execute it in this request. The body may name the `digest` that was read.

    A crash of this request is seen by the next who looks: the plan is then failed (interrupted), and staff may resume it.
    """
    body = body_of(request)
    if isinstance(body, JsonResponse):
        return body
    found, mine = plan_for(request.user, pk), False
    if found.status == "pending":
        if body.get("digest", found.digest) != found.digest:
            return problem(409, "proposal_changed", "This is not the plan that was read.", plan=found.answer())
        mine = ruling = found.approve(by=request.user)
        if not ruling and found.status == "pending":
            return _lost(found, ruling)
    elif found.status == "approved":
        mine = True  # whoever approved it never came to execute it
    if mine:
        found.run()
    if found.status == "executed" or (mine and found.status == "failed"):
        return answered(found)
    return _state(found)


def _state(found: Any) -> JsonResponse:
    if found.status in ("approved", "executing"):
        return problem(409, "proposal_in_flight", "The plan is being executed.", plan=found.answer())
    return problem(409, f"proposal_{found.status}", f"The plan is {found.status}.", plan=found.answer())


def _lost(found: Any, ruling: Any) -> JsonResponse:
    if found.status in ("expired", "rejected", "failed"):
        return problem(409, f"proposal_{found.status}", ruling.sentence, plan=found.answer())
    code = "proposal_already_decided" if ruling.by else "proposal_changed"
    at = ruling.at.isoformat() if ruling.at else None
    return problem(409, code, ruling.sentence, by=ruling.by, at=at, plan=found.answer())
