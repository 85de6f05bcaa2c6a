"""
A Neon for development and tests: branches, the restore, and operations that go through their statuses.

It keeps what it has accepted, so that it can be counted, and refuses what Neon refuses: a second branch of one name, a
restore while another is under way (423), an unknown id (404). Spoiling answers is the front's business.
"""

import json
import threading
import time
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

__all__ = ["Neon"]

PROJECT, BRANCH, PARENT = "paper-house-1", "br-preview-1", "br-main-1"
ENDED = {"finished", "skipped", "cancelled"}


class Neon:
    """One project with a main branch and a child of it. Statuses move on by look, or by time where `seconds` is given."""

    def __init__(self, *, statuses=("scheduling", "running", "finished"), seconds: float | None = None) -> None:
        self.statuses = list(statuses)
        self.seconds = seconds
        self.accepted: list[str] = []  # the names given with each accepted restore
        self.before_accepting = self.after_accepting = lambda: None  # for a test that kills its caller here
        self.branches = {PARENT: _branch(PARENT, "main", None), BRANCH: _branch(BRANCH, "preview", PARENT)}
        self.operations: dict[str, dict] = {}
        self._lock = threading.RLock()
        self._server: ThreadingHTTPServer | None = None
        self.url = ""

    def __enter__(self) -> "Neon":
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """The variables that point the site (see project/settings.py) at this server."""
        known = {"NEON_API_BASE": self.url, "NEON_PROJECT_ID": PROJECT, "NEON_BRANCH_ID": BRANCH}
        return {**known, "NEON_API_KEY": "local", "BRANCH_RESET": "true"}

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, dict]:
        """Answer one request."""
        parts, query = urlsplit(path), parse_qs(urlsplit(path).query)
        place = parts.path.strip("/").split("/")
        if place[:2] != ["projects", PROJECT]:
            return _error(404)
        with self._lock:
            match (method, *place[2:]):
                case ("GET", "branches"):
                    wanted = query.get("search", [""])[0]
                    return 200, {"branches": [one for one in self.branches.values() if wanted in one["name"]]}
                case ("GET", "branches", branch) if branch in self.branches:
                    return 200, {"branch": self.branches[branch]}
                case ("GET", "operations"):
                    return 200, {"operations": [_shown(one) for one in reversed(self.operations.values())]}
                case ("GET", "operations", operation) if operation in self.operations:
                    return 200, {"operation": self._look(self.operations[operation])}
        if method == "POST" and place[2:3] == ["branches"] and place[-1] == "restore" and place[3] in self.branches:
            return self._restore(place[3], json.loads(body or b"{}"))
        return _error(404)

    def _restore(self, branch: str, asked: dict) -> tuple[int, dict]:
        self.before_accepting()
        with self._lock:
            name = asked.get("preserve_under_name", "")
            if any(one["status"] not in ENDED for one in self.operations.values()):
                return _error(423)
            if asked.get("source_branch_id") not in self.branches or any(
                one["name"] == name for one in self.branches.values()
            ):
                return _error(422)
            kept = _branch(f"br-{uuid.uuid4().hex[:12]}", name, self.branches[branch]["parent_id"])
            self.branches[kept["id"]] = kept
            self.accepted.append(name)
            operation = {
                "id": str(uuid.uuid4()), "project_id": PROJECT, "branch_id": branch, "action": "create_timeline",
                "status": self.statuses[0], "failures_count": 0, "created_at": _now(), "looks": 0, "began": time.monotonic(),
            }  # fmt: skip
            self.operations[operation["id"]] = operation
        self.after_accepting()
        return 200, {"branch": self.branches[branch], "operations": [_shown(operation)]}

    def _look(self, operation: dict) -> dict:
        passed = operation["looks"]
        if self.seconds is not None:
            passed = int((time.monotonic() - operation["began"]) / self.seconds)
        operation["looks"] += 1
        operation["status"] = self.statuses[min(passed, len(self.statuses) - 1)]
        return _shown(operation)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A caller that was killed hangs up in the middle: that is what we are here for, not a complaint."""


def _handler_for(neon: Neon) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_call(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = neon.answer(self.command, self.path, body)
            content = json.dumps(said).encode()
            self.send_response_only(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_call  # noqa: N815 - the names http.server calls

        def log_message(self, *args: object) -> None:
            """The front's call log is the log."""

    return Handler


def _branch(branch_id: str, name: str, parent: str | None) -> dict:
    found = {"id": branch_id, "project_id": PROJECT, "name": name, "current_state": "ready", "created_at": _now()}
    return {**found, "parent_id": parent} if parent else found


def _shown(operation: dict) -> dict:
    return {name: value for name, value in operation.items() if name not in ("looks", "began")}


def _error(status: int) -> tuple[int, dict]:
    return status, {"code": "", "message": "secret detail of the far side", "request_id": str(uuid.uuid4())}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
