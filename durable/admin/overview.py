"""
The overview: is anything wrong, since when and how much, and is anybody working at all. Problems first.

It stands at the admin's index of this app, on whatever admin site. Any app may add a line: an `AppConfig` with a method
`desk_notices(request)` that returns `(text, address, is_problem)` for each. So no app needs to import another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.contrib.admin.sites import all_sites
from django.db import connections, router
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from durable import clock, figures, kinds, pauses, workers
from durable.admin.badges import badge
from durable.admin.page import owner_in_words
from durable.admin.sparklines import sparkline
from durable.explain import duration, explain
from durable.figures import Figures, Holding
from durable.owner import is_gone
from durable.redacting import redacted

__all__ = ["overview"]

_WORKERS = 20
_HOLDINGS = 5
_LISTED = 20
_SILENT = timedelta(seconds=60)  # so long may a run be due while nobody holds any, before somebody must be told


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something a person should look at."""

    text: str
    address: str = ""


def overview(request: HttpRequest) -> dict[str, Any]:
    """Return what the page shows: of the kinds that this person may see."""
    found = [figures.of_kind(model) for model in kinds.registered() if _may_see(request, model)]
    now = clock.read(connections[router.db_for_read(workers.Worker)])
    notices = _notices(request)
    staff = _workers(found, now)
    problems = [
        *_nobody_works(found, staff, now),
        *(problem for one in found for problem in _problems(one, request)),
        *_pauses(found),
        *(Problem(text=text, address=address) for text, address, bad in notices if bad),
    ]
    busy: list[Figures] = []
    quiet: list[Figures] = []
    for one in found:
        (busy if one.open or one.dead or one.undecided or one.last_settled else quiet).append(one)
    lines = [_line(one, request) for one in busy]
    return {
        "problems": problems,
        "all_clear": "" if problems else _all_clear(found),
        "lines": sorted(lines, key=lambda line: (not line["is_bad"], -line["figures"].open)),
        "quiet": [one.model._meta.verbose_name_plural for one in quiet],
        "listed": [line for one in found if one.model.LISTED for line in _each(one, request)],
        "workers": staff,
        "notices": [(text, address) for text, address, bad in notices if not bad],
        "now": now,
        "path": request.path,
    }


# Problems --------------------------------------------------------------------------------------------------------


def _problems(one: Figures, request: HttpRequest) -> list[Problem]:
    found, name, more = [], capfirst(one.model._meta.verbose_name_plural), "+" if one.is_capped else ""
    if one.unseen:
        said = ngettext(
            "%(kind)s: %(count)s was given up, %(span)s ago; it needs a decision.",
            "%(kind)s: %(count)s were given up, the newest %(span)s ago; they need a decision.",
            one.unseen,
        )
        facts = {
            "kind": name,
            "count": f"{one.unseen}{'+' if one.unseen >= figures.MOST else ''}",
            "span": duration(one.now - (one.dead_newest or one.now)),
        }
        found.append(Problem(text=said % facts, address=_list(one.model, request, "trouble")))
    if one.undecided:
        said = ngettext(
            "%(kind)s: %(count)s waits for a decision.", "%(kind)s: %(count)s wait for a decision.", one.undecided
        )
        facts = {"kind": name, "count": f"{one.undecided}{'+' if one.undecided >= figures.MOST else ''}"}
        found.append(Problem(text=said % facts, address=_list(one.model, request)))
    if one.stuck:
        said = ngettext(
            "%(kind)s: %(count)s is stuck: due or lapsed for long, or tried many times.",
            "%(kind)s: %(count)s are stuck: due or lapsed for long, or tried many times.",
            one.stuck,
        )
        facts = {"kind": name, "count": f"{one.stuck}{more}"}
        found.append(Problem(text=said % facts, address=_list(one.model, request, "stuck")))
    if one.foreign:
        said = ngettext(
            "%(kind)s: %(count)s has a step that this code does not know; it waits for code that does.",
            "%(kind)s: %(count)s have a step that this code does not know; they wait for code that does.",
            one.foreign,
        )
        facts = {"kind": name, "count": f"{one.foreign}{more}"}
        found.append(Problem(text=said % facts, address=_list(one.model, request, "open")))
    return found


def _nobody_works(found: list[Figures], staff: list[dict[str, Any]], now: datetime) -> list[Problem]:
    """Say so where runs are due and no sign of a worker is to be seen."""
    overdue = [one.oldest_due for one in found if one.oldest_due and one.now - one.oldest_due > _SILENT]
    if not overdue or any(worker["is_here"] for worker in staff):
        return []
    count = sum(one.due for one in found)
    seen = [worker["seen_at"] for worker in staff if worker["seen_at"]]
    seen += [one.last_settled for one in found if one.last_settled]
    facts = {"count": count, "span": duration(now - min(overdue))}
    if seen:
        since = f"{max(seen):%Y-%m-%d %H:%M} UTC"
        said = ngettext(
            "Nobody has reconciled since %(since)s: %(count)s run is due, for %(span)s.",
            "Nobody has reconciled since %(since)s: %(count)s runs are due, the oldest for %(span)s.",
            count,
        ) % {**facts, "since": since}
    else:
        said = (
            ngettext(
                "Nobody has ever reconciled here: %(count)s run is due, for %(span)s.",
                "Nobody has ever reconciled here: %(count)s runs are due, the oldest for %(span)s.",
                count,
            )
            % facts
        )
    return [Problem(text=said + " " + _("Start manage.py reconcile --watch."))]


def _pauses(found: list[Figures]) -> list[Problem]:
    message = next((one.model for one in found if one.name == "durable.message"), None)
    if message is None:
        return []
    held = pauses.paused(kinds.alias_of(message))
    said = [
        _("The topic %(topic)s is paused: %(why)s Its messages wait.") % {"topic": topic, "why": redacted(why) + "."}
        for topic, why in sorted(held.items())
    ]
    return [Problem(text=text) for text in said]


def _all_clear(found: list[Figures]) -> str:
    count = sum(one.open for one in found)
    said = _("All is well: nothing is stuck, nothing was given up, nothing waits for a decision.")
    more = ngettext("%(count)s run is open.", "%(count)s runs are open.", count) % {"count": count}
    return f"{said} {more}"


def _notices(request: HttpRequest) -> list[tuple[str, str, bool]]:
    found: list[tuple[str, str, bool]] = []
    for config in apps.get_app_configs():
        ask = getattr(config, "desk_notices", None)
        if ask is not None:
            found += ask(request)
    return found


def _each(one: Figures, request: HttpRequest) -> list[dict[str, Any]]:
    """Return a line for each run of a kind that has few."""
    return [
        {
            "name": str(run),
            "badge": badge(run, one.now),
            "sentence": redacted(explain(run, one.now)),
            "address": _address(one.model, "change", run.pk),
        }
        for run in kinds.rows_of(one.model).order_by("key")[:_LISTED]
    ]


# Kinds -----------------------------------------------------------------------------------------------------------


def _line(one: Figures, request: HttpRequest) -> dict[str, Any]:
    hour, day = one.settled[-60:], _quarters(one.settled)
    bad_hour, bad_day = one.failed[-60:], _quarters(one.failed)
    return {
        "figures": one,
        "name": one.model._meta.verbose_name_plural,
        "address": _list(one.model, request),
        "is_bad": bool(one.unseen or one.stuck or one.undecided or one.foreign),
        "more": "+" if one.is_capped else "",
        "oldest": duration(one.now - one.oldest_due) if one.oldest_due else "–",
        "states": [
            (count, _list(one.model, request, state))
            for count, state in (
                (one.open, "open"),
                (one.due, "due"),
                (one.running, "running"),
                (one.stuck, "stuck"),
                (one.unseen, "trouble"),
            )
        ],
        "hour": sparkline(hour, bad_hour, _("the last hour")),
        "day": sparkline(day, bad_day, _("the last day")),
        "hour_count": f"{sum(hour)}{'+' if one.counted_minutes < 60 else ''}",
        "day_count": f"{sum(day)}{'+' if one.counted_minutes < figures.DAY else ''}",
    }


def _quarters(minutes: list[int]) -> list[int]:
    return [sum(minutes[start : start + 15]) for start in range(0, len(minutes), 15)]


# Workers ---------------------------------------------------------------------------------------------------------


def _workers(found: list[Figures], now: datetime) -> list[dict[str, Any]]:
    """Return who reconciles: by the table of workers, and by the leases that are held."""
    held: dict[str, list[Holding]] = defaultdict(list)
    for one in found:
        for holding in one.held:
            held[holding.owner].append(holding)
    rows = {row.owner: row for row in workers.Worker.objects.order_by("-seen_at")[:_WORKERS]}
    lines = [_worker(owner, rows.get(owner), held.get(owner, []), now) for owner in {**rows, **held}]
    return sorted(lines, key=lambda line: (not line["is_here"], -(line["seen_at"] or now).timestamp()))[:_WORKERS]


def _worker(owner: str, row: Any, holds: list[Holding], now: datetime) -> dict[str, Any]:
    alive = [one for one in holds if one.lease_expires_at > now]
    fresh = row is not None and row.ended_at is None and (now - row.seen_at).total_seconds() < workers.FRESH
    seen = max([one.updated_at for one in holds] + ([row.seen_at] if row else []))
    is_here = (bool(alive) or fresh) and not is_gone(owner)
    if row is not None and row.ended_at is not None and not alive:
        doing = _("ended %(span)s ago") % {"span": duration(now - row.ended_at)}
    elif is_here:
        watching = _("watching") if row is not None and row.watches else _("at work")
        doing = _("%(what)s, last seen %(span)s ago") % {"what": watching, "span": duration(now - seen)}
    else:
        doing = _("gone without a word, last seen %(span)s ago") % {"span": duration(now - seen)}
    return {
        "name": owner_in_words(owner),
        "doing": doing,
        "is_here": is_here,
        "seen_at": seen,
        "count": len(holds),
        "holds": [
            {
                "name": f"{one.model._meta.verbose_name} {one.key or one.pk}",
                "address": _address(one.model, "change", one.pk),
                "lease": duration(one.lease_expires_at - now) if one.lease_expires_at > now else "",
            }
            for one in holds[:_HOLDINGS]
        ],
    }


# Addresses and permissions ---------------------------------------------------------------------------------------


def _site(request: HttpRequest) -> Any:
    name = getattr(request, "current_app", None)
    return next((site for site in all_sites if site.name == name), next(iter(all_sites)))


def _may_see(request: HttpRequest, model: type[Any]) -> bool:
    registered = _site(request)._registry.get(model)
    if registered is not None:
        return bool(registered.has_view_permission(request))
    return request.user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


def _list(model: type[Any], request: HttpRequest, state: str = "") -> str:
    address = _address(model, "changelist")
    return f"{address}?state={state}" if address and state else address


def _address(model: type[Any], view: str, *args: Any) -> str:
    try:
        return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=args)
    except NoReverseMatch:
        return ""
