"""The pages for staff: the branch with its confirm dialog, one reset as it goes on, and all there were."""

import uuid

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from durable import AlreadyInFlight, KeyConflict, polling
from durable.models import Operation

from . import neon
from .forms import ConfirmReset
from .progress import progress_of

__all__ = ["branch", "cancel", "history", "reset"]

KIND = "branch.reset"
_MAY = "durable.change_operation"


def _staff(view):
    """Only where resets are switched on, and only for who may change operations."""

    @never_cache
    @login_required
    def guarded(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not (neon.is_enabled() and settings.NEON_BRANCH_ID):
            raise Http404
        if not request.user.has_perm(_MAY):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


@_staff
def branch(request: HttpRequest) -> HttpResponse:
    """Show the branch and its last reset; a confirmed POST records another one. A worker does the rest."""
    form = ConfirmReset(request.POST or None, initial={"key": str(uuid.uuid4())})
    fault = ""
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("branches:reset", _start(form.cleaned_data["key"], request.user).pk)
        except AlreadyInFlight as taken:
            return redirect("branches:reset", taken.run.pk)
        except KeyConflict:
            fault = _("This page is broken. Load it again.")
    shown = {
        "form": form, "fault": fault, "branch": settings.NEON_BRANCH_ID, "asked": "confirm" in request.GET or form.errors,
        "last": _resets().first(), "going": _resets().filter(Q(settled_at=None) | Q(status="unknown")).first(),
    }  # fmt: skip
    return render(request, "branches/branch.html", shown, status=422 if form.errors or fault else 200)


@_staff
def reset(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Show one reset as it stands, and let a worker look at it soon, since somebody is watching."""
    operation = _find(pk)
    operation.nudge()
    return render(request, "branches/reset.html", {"reset": operation, "progress": progress_of(operation)})


@_staff
def cancel(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Say what calling it off would mean, and do it: not begun, it never will be; begun, it is only watched no longer."""
    operation = _find(pk)
    if request.method == "POST":
        operation.cancel(by=request.user)
    elif operation.settled_at is None:
        return render(request, "branches/cancel.html", {"reset": operation})
    return redirect("branches:reset", pk)


@_staff
def history(request: HttpRequest) -> HttpResponse:
    """List every reset, newest first."""
    page = Paginator(_resets(), 20).get_page(request.GET.get("page"))
    return render(request, "branches/history.html", {"page": page})


def _start(key: str, user) -> Operation:
    branch_id = settings.NEON_BRANCH_ID
    return polling.start(KIND, {"branch": branch_id}, key=key, one_at_a_time=branch_id, by=user)


def _resets():
    return Operation.objects.filter(kind=KIND).order_by("-created_at")


def _find(pk: uuid.UUID) -> Operation:
    operation = Operation.objects.filter(pk=pk, kind=KIND).first()
    if operation is None:
        raise Http404
    return operation
