"""
Calls: what a far side really received, one JSON line each, readable from any process.

A line is written after the far side answered and before the answer travels back: a caller that dies while it
waits has its call on record all the same.
"""

import base64
import hashlib
import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Call", "CallLog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it arrived, and how it was answered."""

    method: str
    path: str  # with the query string
    key: str  # the Idempotency-Key header, or ""
    body: str  # base64: the very bytes
    digest: str  # sha256 of the body
    status: int
    fate: str  # "answered"; "replayed" from the key's stored answer; "refused" by the front; "lost" on the way back

    @classmethod
    def of(cls, *, method: str, path: str, key: str, body: bytes, status: int, fate: str) -> "Call":
        return cls(
            method=method,
            path=path,
            key=key,
            body=base64.b64encode(body).decode(),
            digest=hashlib.sha256(body).hexdigest(),
            status=status,
            fate=fate,
        )

    def content(self) -> bytes:
        """Return the body as it arrived."""
        return base64.b64decode(self.body)


class CallLog:
    """A file of calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.touch()

    def append(self, call: Call) -> None:
        with self._lock, self.path.open("a") as file:
            file.write(json.dumps(asdict(call)) + "\n")

    def read(self) -> list[Call]:
        """Return every call so far, oldest first."""
        # The last line may be half written: another process may still be at it.
        whole = self.path.read_text().rpartition("\n")[0]
        return [Call(**json.loads(line)) for line in whole.splitlines()]
