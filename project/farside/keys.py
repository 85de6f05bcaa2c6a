"""
Stripe's idempotency keys, which localstripe ignores; the front adds them as Stripe documents them for API v1.

The first answer to a POST with a key is stored, errors included. The same key with the same request gets that
answer again, marked `Idempotent-Replayed: true`; with another request it gets 400 `idempotency_error`; while the
first is still being worked on, 409 `idempotency_key_in_use`. Not stored are answers given before the work began:
400 (taken for a failed validation, the only kind localstripe has), 401, 409, 429.
On GET and DELETE a key has no effect: "these requests are idempotent by definition".
"""

import json
import threading
from dataclasses import dataclass, replace

__all__ = ["Answer", "Keys"]

NOT_STORED = {400, 401, 409, 429}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, headers and body, on their way back to the caller."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_replay: bool = False


class Keys:
    """The keys seen so far, each with the request it belongs to and its answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[tuple[str, bytes], Answer | None]] = {}

    def begin(self, key: str, request: tuple[str, bytes]) -> Answer | None:
        """Return the answer this key already has; None means: carry the request out and call `finish`."""
        with self._lock:
            if key not in self._seen:
                self._seen[key] = (request, None)
                return None
            first, answer = self._seen[key]
        if first != request:
            return _error(
                400,
                type="idempotency_error",
                message="Keys for idempotent requests can only be used with the same parameters they were first "
                f"used with. Try using a key other than '{key}' if you meant to execute a different request.",
            )
        if answer is None:
            return _error(
                409,
                type="invalid_request_error",
                code="idempotency_key_in_use",
                message=f"There is currently another in-progress request using the key '{key}'.",
            )
        return replace(answer, headers=(*answer.headers, ("Idempotent-Replayed", "true")), is_replay=True)

    def finish(self, key: str, answer: Answer | None) -> None:
        """Store the answer; forget the key where there is none, or where Stripe stores none."""
        with self._lock:
            if answer is None or answer.status in NOT_STORED:
                del self._seen[key]
            else:
                self._seen[key] = (self._seen[key][0], answer)


def _error(status: int, **error: str) -> Answer:
    return Answer(
        status=status,
        headers=(("Content-Type", "application/json"),),
        body=json.dumps({"error": error}).encode(),
    )
