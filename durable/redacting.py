"""
Redacting: what an error says, without the secrets it happens to carry. On by default; a setting names another function.

An error is kept on the row, shown in the admin and printed by the command; a client that quotes its own request must not
put a password there. Two nets: the values of this site's own secret settings, wherever they stand, and whatever stands
behind a name that says it is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from .conf import setting

__all__ = ["REDACTED", "is_secret_name", "redact", "redacted", "without_secrets"]

REDACTED: Final = "[redacted]"

_WORDS = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|"
    r"authorization|cookie|session[_-]?id|credentials?|signature)"
)
_NAME: Final = re.compile(_WORDS, re.IGNORECASE)
_SHORTEST = 8  # a shorter value is a word that an error may say for its own reasons

#: (what it looks like, what is left of it)
_FORMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        REDACTED,
    ),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s@]+(@)", re.IGNORECASE), rf"\1{REDACTED}\2"),
    (
        re.compile(r"((?:authorization|cookie|x-[a-z-]*(?:key|token))\s*:\s*)[^\r\n'\"]+", re.IGNORECASE),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{REDACTED}"),
    (
        re.compile(
            rf"((['\"])[\w-]*{_WORDS}[\w-]*\2\s*:\s*)(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^\s,}}\]]+)", re.IGNORECASE
        ),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(rf"(\b[\w-]*{_WORDS}[\w-]*\s?=\s?)(?:'[^']*'|\"[^\"]*\"|[^\s,;&)'\"]+)", re.IGNORECASE),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9_]{8,}"), REDACTED),
    (
        re.compile(r"\b(?:gh[opsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{16})\b"),
        REDACTED,
    ),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"), REDACTED),
    (re.compile(r"\b(bot)?\d{6,}:[A-Za-z0-9_-]{30,}"), rf"\1{REDACTED}"),
)


def redacted(text: str) -> str:
    """Return the text as the REDACT setting's function leaves it. Where that function raises, nothing of the text."""
    try:
        return str(import_string(setting("REDACT"))(text))
    except Exception as error:  # noqa: BLE001 - a broken hook must neither leak the text nor lose the run's record
        return f"(the error's text was left out: REDACT failed with {type(error).__name__})"


def redact(text: str) -> str:
    """Return the text without the values of this site's secret settings, and without what looks like a secret."""
    for value in sorted(_secrets_of_this_site(), key=len, reverse=True):
        text = text.replace(value, REDACTED)
    for form, left in _FORMS:
        text = form.sub(left, text)
    return text


def is_secret_name(name: str) -> bool:
    """Return whether a thing of that name is not for showing."""
    return bool(_NAME.search(name))


def without_secrets(value: Any) -> Any:
    """Return a JSON value for showing: what stands under a secret name is left out, texts are redacted."""
    if isinstance(value, dict):
        return {
            key: REDACTED if is_secret_name(str(key)) and one not in (None, "") else without_secrets(one)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return redacted(value) if isinstance(value, str) else value


def _secrets_of_this_site() -> set[str]:
    return {value for value in _values() if isinstance(value, str) and len(value) >= _SHORTEST}


def _values() -> Iterator[Any]:
    for name in dir(settings):
        if name.isupper() and (is_secret_name(name) or name.endswith("_KEY")):
            yield getattr(settings, name, None)
    for database in settings.DATABASES.values():
        yield database.get("PASSWORD")
