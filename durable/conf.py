"""
Settings: one dictionary, `DURABLE`, every key optional, seconds where it is time.

Read at the moment of use, so `override_settings` works. A system check refuses unknown keys and impossible values.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings

__all__ = ["DEFAULTS", "problems", "setting"]

DEFAULTS: Final[dict[str, float | int | bool | str]] = {
    "LEASE": 60.0,  # until when nobody else may take a claimed run; renewed at a third of it
    "POLL": 1.0,  # how often an idle worker looks for due runs; jittered
    "THREADS": 4,  # runs in flight per process (SQLite: 1, as it has one writer)
    "MAX_LOSSES": 5,  # workers lost in a row before a run is given up as dead
    "STEP_TIMEOUT": 300.0,  # a step without a timeout of its own; a hung step becomes claimable after it
    "NOTIFY": False,  # PostgreSQL: wake watching workers when a run is started, instead of at their next look
    "EMAIL": "django.core.mail.backends.smtp.EmailBackend",  # what sends the mails of OutboxEmailBackend
    "PLAN_LEASE": 120.0,  # the lease of an executing plan; longer, as one that lapses needs a person to go on
    "PLAN_EXPIRES": 900.0,  # until when a proposed plan may be approved and begun
    "PLAN_STEPS": 10,  # steps a plan may have
    "PLAN_FOUR_EYES": False,  # who proposed a plan may not approve it
    "GRACE": 8.0,  # after SIGTERM: how long the step in hand may go on before it is cut off and released
}


def setting(name: str) -> Any:
    """Return the value of one key of `DURABLE`, or its default."""
    return getattr(settings, "DURABLE", {}).get(name, DEFAULTS[name])


def problems() -> list[tuple[str, str]]:
    """Return (what is wrong, what to do) for each mistake in the `DURABLE` setting."""
    given = getattr(settings, "DURABLE", {})
    if not isinstance(given, dict):
        return [(f"DURABLE is a {type(given).__name__}.", "Make it a dictionary.")]
    found = []
    for name, value in given.items():
        if name not in DEFAULTS:
            known = ", ".join(sorted(DEFAULTS))
            found.append((f"DURABLE has an unknown key {name!r}.", f"Known keys: {known}."))
        elif isinstance(DEFAULTS[name], str):
            if not isinstance(value, str) or not value:
                found.append((f"DURABLE[{name!r}] is {value!r}.", "Give a text, as the documentation says."))
        elif isinstance(DEFAULTS[name], bool):
            if not isinstance(value, bool):
                found.append((f"DURABLE[{name!r}] is {value!r}.", "Give True or False."))
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
            found.append((f"DURABLE[{name!r}] is {value!r}.", "Give a number above 0."))
        elif isinstance(DEFAULTS[name], int) and not isinstance(value, int):
            found.append((f"DURABLE[{name!r}] is {value!r}.", "Give a whole number."))
    return found
