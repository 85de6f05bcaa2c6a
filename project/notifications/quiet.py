"""Quiet hours: how long to wait until a person may be disturbed. Pure arithmetic on their own wall clock."""

import datetime as dt
import zoneinfo

__all__ = ["seconds_until_loud"]


def seconds_until_loud(now, zone, quiet_from, quiet_until):
    """
    Return the seconds until the quiet hours that hold at `now` end, and 0 where none hold.

    Args:
        now: an aware time.
        zone: the name of the person's time zone.
        quiet_from, quiet_until: wall-clock times; equal or missing: no quiet hours. They may span midnight.
    """
    if quiet_from is None or quiet_until is None or quiet_from == quiet_until:
        return 0.0
    place = zoneinfo.ZoneInfo(zone)
    local = now.astimezone(place)
    time = local.time()
    spans_midnight = quiet_from > quiet_until
    after, before = time >= quiet_from, time < quiet_until
    if not ((after or before) if spans_midnight else (after and before)):
        return 0.0
    day = local.date() if time < quiet_until else local.date() + dt.timedelta(days=1)
    end = dt.datetime.combine(day, quiet_until, place)
    # Compared in UTC: the night on which the clocks change is an hour longer or shorter.
    return max(1.0, (end.astimezone(dt.UTC) - now.astimezone(dt.UTC)).total_seconds())
