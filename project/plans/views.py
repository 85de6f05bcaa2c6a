"""Pages: the plans there are, and one plan, to be read before it is decided, watched while it runs, and kept afterwards."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from durable import plans
from durable.models import Plan
from durable.verdicts import PERMISSION, verb_word

from .asking import plan_for
from .telling import tell

__all__ = ["approve", "plan", "plan_list", "reject"]


@never_cache
@login_required
def plan_list(request: HttpRequest) -> HttpResponse:
    """List the newest plans this person may see, those that wait for a decision first."""
    mine = Q() if request.user.has_perm(PERMISSION) else Q(proposer_id=str(request.user.pk))
    found = list(Plan.objects.filter(mine).order_by("-created_at").defer("steps", "failures")[:50])
    found.sort(key=lambda plan: plan.status != "pending")
    for one in found:
        one.word = verb_word(one.status)
    return render(request, "plans/list.html", {"plans": found})


@never_cache
@login_required
def plan(request: HttpRequest, pk: Any) -> HttpResponse:
    """Show one plan."""
    found = plan_for(request.user, pk)
    shown = {
        "plan": found, "told": tell(found), "decisions": found.decisions.order_by("pk"),
        "may_decide": request.user.has_perm(PERMISSION),
        "own": found.four_eyes and found.proposer_id == str(request.user.pk),
    }  # fmt: skip
    return render(request, "plans/plan.html", shown)


@require_POST
@login_required
def approve(request: HttpRequest, pk: Any) -> HttpResponse:
    """Approve the plan that was read; a worker executes it."""
    found = plan_for(request.user, pk)
    if request.POST.get("digest") != found.digest:
        messages.error(request, _("This is not the plan that you read any more. Read it again."))
    else:
        _say(request, lambda: found.approve(by=request.user))
    return redirect("plans:plan", pk=found.pk)


@require_POST
@login_required
def reject(request: HttpRequest, pk: Any) -> HttpResponse:
    """Reject the plan."""
    found = plan_for(request.user, pk)
    _say(request, lambda: found.reject(by=request.user, reason=request.POST.get("reason", "")[:500]))
    return redirect("plans:plan", pk=found.pk)


def _say(request: HttpRequest, decide) -> None:
    try:
        ruling = decide()
    except plans.NotAllowed as error:
        messages.error(request, str(error))
        return
    if not ruling:
        messages.warning(request, ruling.sentence)
