"""Notices: what of documents waits for staff, for whatever page of a site gathers such things."""

import datetime as dt

from django.db.models import Min
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from documents.models import Conflict

__all__ = ["notices"]

_MOST = 1_000
_MINUTE = dt.timedelta(minutes=1)


def notices(request: HttpRequest) -> list[tuple[str, str, bool]]:
    """Return (text, address, whether it is a problem) for each notice that this person may see."""
    if not any(request.user.has_perm(f"documents.{name}_conflict") for name in ("view", "settle")):
        return []
    open_ones = Conflict.objects.filter(settled_at=None).order_by("-changed_at")[:_MOST]
    found = open_ones.aggregate(oldest=Min("opened_at"))["oldest"]
    if found is None:
        return [(_("Documents: no conflict is open."), "", False)]
    count = open_ones.count()
    said = ngettext(
        "Documents: %(count)s conflict waits for a decision, for %(span)s.",
        "Documents: %(count)s conflicts wait for a decision, the oldest for %(span)s.",
        count,
    )
    span = timesince(found, depth=1) if timezone.now() - found > _MINUTE else _("less than a minute")
    facts = {"count": f"{count}+" if count >= _MOST else str(count), "span": span}
    try:
        address = reverse("admin:documents_conflict_changelist", current_app=getattr(request, "current_app", None))
    except NoReverseMatch:
        address = ""
    return [(said % facts, address, True)]
