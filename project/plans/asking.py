"""Asking: who may see a plan, and the JSON in which it is asked about. Codes are stable; messages are for people."""

import json
from typing import Any

from django.http import Http404, HttpRequest, JsonResponse

from durable import plans
from durable.verdicts import PERMISSION

__all__ = ["answered", "body_of", "plan_for", "problem"]

_LARGEST = 256 * 1024


def plan_for(user: Any, pk: Any) -> Any:
    """
    Return that plan, healed, to whoever proposed it or may decide about it.

    Raises:
        Http404: for everybody else, as for a plan there is not.
    """
    plan = plans.get(pk)
    if plan is None or not (user.has_perm(PERMISSION) or plan.proposer_id == str(user.pk)):
        raise Http404
    return plan


def problem(status: int, code: str, message: str, **more: Any) -> JsonResponse:
    """Return an error as every endpoint here tells one."""
    return JsonResponse({"code": code, "message": message, **more}, status=status)


def answered(plan: Any, status: int = 200) -> JsonResponse:
    """Return the plan from its row and receipts: for one that has ended, always the same bytes."""
    return JsonResponse(plan.answer(), status=status, json_dumps_params={"sort_keys": True})


def body_of(request: HttpRequest) -> dict[str, Any] | JsonResponse:
    """Return the request's JSON object, or what is wrong with it."""
    if len(request.body) > _LARGEST:
        return problem(413, "too_large", f"A plan has at most {_LARGEST} bytes.", limit=_LARGEST)
    try:
        body = json.loads(request.body or b"{}")
    except (ValueError, RecursionError) as error:
        return problem(400, "invalid_body", f"The body is no JSON: {error}")
    if not isinstance(body, dict):
        return problem(400, "invalid_body", "The body is a JSON object.")
    return body
