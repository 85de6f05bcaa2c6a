"""The pages: home, "delete my account", and the progress that outlives the account."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from . import userfiles
from .forms import ConfirmDeletion
from .models import AccountDeletion, Subscription
from .progress import address_of, deletion_for, progress_of

__all__ = ["delete_account", "home", "progress"]


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/home.html", {"paid": _subscription_of(request.user)})


@never_cache
@login_required
def delete_account(request: HttpRequest) -> HttpResponse:
    """Say what will go; on a confirmed POST record the deletion. A worker does the rest."""
    form = ConfirmDeletion(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            deletion = AccountDeletion.start_for(request.user)
        return redirect(address_of(deletion))
    goes = {"form": form, "paid": _subscription_of(request.user), "files": userfiles.count(request.user.pk)}
    return render(request, "accounts/delete.html", goes, status=422 if form.errors else 200)


@never_cache
def progress(request: HttpRequest, token: str) -> HttpResponse:
    """Show how far a deletion is, to anybody who has its address."""
    deletion = deletion_for(token)
    if deletion is None:
        raise Http404(_("There is no deletion at this address."))
    shown = {"progress": progress_of(deletion), "for_developers": settings.DEBUG}
    return render(request, "accounts/progress.html", shown)


def _subscription_of(user) -> Subscription | None:
    return Subscription.objects.filter(user_id=user.pk).first() if user.is_authenticated else None
