"""
The page that confirms a decision: what happens, what does not, a reason; and one conditional UPDATE when it is posted.

The form names the run as the page showed it. If it moved on, nothing is changed, and the page of the run says so.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from durable.errors import DurableError
from durable.explain import explain, now_of
from durable.redacting import redacted
from durable.run import Seen
from durable.staff import Asked, Decision

__all__ = ["answer", "carry_out"]

_LONGEST = 500


def answer(admin: Any, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
    """Return the page that asks, or the redirect after it was answered."""
    run = admin.get_object(request, object_id)
    if not admin.has_view_permission(request, run):
        raise PermissionDenied
    decision = next((one for one in admin.model.staff_decisions() if one.name == name), None)
    if run is None or decision is None:
        raise Http404
    if not admin.may(request, decision, run):
        raise PermissionDenied
    request.current_app = admin.admin_site.name
    step = request.POST.get("step", request.GET.get("step", "")) if decision.of_step else ""
    receipts = {receipt.step: receipt for receipt in run.receipts()}
    if decision.of_step and step not in receipts:
        raise Http404
    if request.method == "POST":
        return _posted(admin, request, run, decision, step)
    now = now_of(run)
    if not decision.is_lawful(run, now) or (step and receipts[step].at is not None):
        return _moved_on(admin, request, run)
    return _page(admin, request, run, decision, step)


def carry_out(admin: Any, request: HttpRequest, run: Any, decision: Decision, asked: Asked) -> Any:
    """
    Make the decision and keep it in the history, in one transaction. Return what the decision returned.

    Raises:
        DurableError, ValueError: the run's own verb refuses, and says why.
    """
    with transaction.atomic(using=router.db_for_write(type(run), instance=run)):
        done = decision.carry_out(run, asked)
        if done:
            admin.log_change(request, run, said_of(decision, asked))
    return done


def said_of(decision: Decision, asked: Asked) -> str:
    """Return what the history keeps."""
    facts = {**asked.answers, "step": asked.step}
    said = str(decision.done) % facts if decision.of_step or decision.asks else str(decision.done)
    return said + " " + _("Reason: %(reason)s") % {"reason": asked.reason} if asked.reason else said


def _posted(admin: Any, request: HttpRequest, run: Any, decision: Decision, step: str) -> HttpResponse:
    reason, fence = request.POST.get("reason", "").strip()[:_LONGEST], request.POST.get("fence", "")
    if not (fence.isascii() and fence.isdigit() and len(fence) < 19):
        raise Http404
    if decision.needs_reason and not reason:
        fault = _("Please say why: it is kept with the decision, and it is all that people will find later.")
        return _page(admin, request, run, decision, step, fault=fault)
    answers = {one.name: request.POST.get(one.name, "").strip()[: one.longest] for one in decision.asks}
    if not all(answers.values()):
        fault = _("Please answer what is asked: without it nothing can be decided.")
        return _page(admin, request, run, decision, step, fault=fault)
    seen = Seen(request.POST.get("status", ""), int(fence))
    asked = Asked(seen=seen, user=request.user, reason=reason, step=step, answers=answers)
    now = now_of(run)
    is_shown = decision.shows(run) == request.POST.get("shows", "")
    is_same = (run.status, run.fence) == seen.as_pair() and decision.is_lawful(run, now)
    if not is_shown or not (is_same or decision.tells):
        return _moved_on(admin, request, run)
    try:
        done = carry_out(admin, request, run, decision, asked)
    except (DurableError, ValueError) as error:
        messages.error(request, _("Nothing was changed. %(error)s") % {"error": redacted(str(error))})
        return HttpResponseRedirect(_address(admin, run))
    run.refresh_from_db()
    if not done:
        return _moved_on(admin, request, run, getattr(done, "sentence", ""))
    messages.success(request, getattr(done, "sentence", "") or said_of(decision, asked))
    return HttpResponseRedirect(_address(admin, done if isinstance(done, type(run)) else run))


def _moved_on(admin: Any, request: HttpRequest, run: Any, why: str = "") -> HttpResponse:
    said = _("Nothing was changed: the run moved on while you were looking. %(sentence)s")
    if why:
        said = _("Nothing was changed. %(sentence)s")
    messages.warning(request, said % {"sentence": redacted(why or explain(run))})
    return HttpResponseRedirect(_address(admin, run))


def _address(admin: Any, run: Any) -> str:
    name = f"admin:{admin.opts.app_label}_{admin.opts.model_name}_change"
    return reverse(name, args=[run.pk], current_app=admin.admin_site.name)


def _page(
    admin: Any, request: HttpRequest, run: Any, decision: Decision, step: str, *, fault: str = ""
) -> HttpResponse:
    now, receipts = now_of(run), run.receipts()
    label = f"{decision.label} {step}" if step else str(decision.label)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("%(decision)s: are you sure?") % {"decision": label},
        "label": label,
        "opts": admin.opts,
        "media": admin.media,
        "run": run,
        "name": f"{capfirst(admin.opts.verbose_name)} · {admin.name(run)}",
        "address": _address(admin, run),
        "sentence": redacted(explain(run, now, receipts)),
        "decision": decision,
        "step": step,
        "will": decision.will(run, receipts, now, step),
        "wont": decision.wont(run, receipts, now, step),
        "reason": request.POST.get("reason", ""),
        "shows": decision.shows(run),
        "questions": [(one, request.POST.get(one.name, "")) for one in decision.asks],
        "fault": fault,
        "longest": _LONGEST,
    }
    return TemplateResponse(request, "admin/durable/decide.html", context, status=422 if fault else 200)
