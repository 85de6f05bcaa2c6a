"""
Neon's API (https://neon.com/docs/reference/api), the five calls a reset needs, and what their answers mean.

Errors carry the status only, never the body or the key: they are shown to people and kept. A POST without an answer may
have been carried out; Neon takes no idempotency key. 423 and 503 are documented as safe to ask again, 429 as too fast.
"""

import json
from urllib.parse import quote

import urllib3
from django.conf import settings

from durable import NotConfigured, Refused, RetryAfter
from project.notifications.calling import seconds_asked_for

__all__ = ["branch", "branches_named", "is_enabled", "operation", "operations", "restore"]

_pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=5, read=15), maxsize=4)
_NOT_NOW = {423: 5.0, 429: 30.0, 503: 10.0}


def is_enabled() -> bool:
    """Return whether branches may be reset at all: only where the setting is exactly `true`."""
    return settings.BRANCH_RESET == "true"


def branch(branch_id: str) -> dict:
    """Return a branch: its `parent_id`, its `name`, its `current_state`."""
    return _call("GET", f"branches/{quote(branch_id)}")["branch"]


def branches_named(name: str) -> list[dict]:
    """Return the branches of exactly that name; a project has one at the most."""
    found = _call("GET", f"branches?search={quote(name)}")["branches"]
    return [one for one in found if one["name"] == name]


def operation(operation_id: str) -> dict:
    """Return one operation of Neon's: its `action` and `status`."""
    return _call("GET", f"operations/{quote(operation_id)}")["operation"]


def operations() -> list[dict]:
    """Return the project's latest operations, newest first."""
    return _call("GET", "operations?limit=100")["operations"]


def restore(branch_id: str, *, source: str, preserve_under_name: str) -> list[dict]:
    """
    Ask for a branch to be restored to the head of another. Return the operations that began.

    What was on the branch is kept under the name given, which no two branches of a project share.
    """
    body = {"source_branch_id": source, "preserve_under_name": preserve_under_name}
    return _call("POST", f"branches/{quote(branch_id)}/restore", body)["operations"]


def _call(method: str, path: str, body: dict | None = None) -> dict:
    """
    Raises:
        RetryAfter: 423, 429, 503: nothing was done.
        NotConfigured: off, no key, or a key that is not taken. Refused: an answer that will not change.
        OSError: no answer, or one that says nothing of what was done.
    """
    if not is_enabled():
        message = "BRANCH_RESET is not exactly 'true'"
        raise NotConfigured(message)
    if not (settings.NEON_API_KEY and settings.NEON_PROJECT_ID):
        message = "NEON_API_KEY or NEON_PROJECT_ID is not set"
        raise NotConfigured(message)
    url = f"{settings.NEON_API_BASE}/projects/{quote(settings.NEON_PROJECT_ID)}/{path}"
    headers = {"Accept": "application/json", "Authorization": f"Bearer {settings.NEON_API_KEY}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    sent = json.dumps(body).encode() if body is not None else None
    try:
        answer = _pool.request(method, url, body=sent, headers=headers, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        message = f"no answer from Neon: {type(error).__name__}"
        raise OSError(message) from None
    if answer.status in (200, 201):
        return json.loads(answer.data)
    raise _meaning(answer.status, answer.headers)


def _meaning(status: int, headers) -> Exception:
    said = f"Neon answered {status}"
    if status in _NOT_NOW:
        return RetryAfter(seconds_asked_for(headers, _NOT_NOW[status]), said)
    if status in (401, 403):
        return NotConfigured(f"{said}: the key is not taken")
    if 400 <= status < 500:
        return Refused(said)
    return OSError(said)
