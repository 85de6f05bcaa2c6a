"""
A front: the address a far side is called at. It passes each call on, writes it down, and can spoil it on purpose.

Spoiling is by rule, each used once: lose the answer after the far side acted, refuse before it acts, or be slow.
"""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from .calls import Call, CallLog
from .keys import Answer, Keys

__all__ = ["Front"]

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}
LOSE, REFUSE, DELAY = "lose", "refuse", "delay"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    kind: str
    method: str
    path: str
    answer: Answer | None = None
    seconds: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    key: str
    body: bytes


@dataclass(slots=True)
class Front:
    """A recording reverse proxy on a free loopback port; `keys=None` where the far side keeps its own."""

    upstream: str
    log: CallLog
    keys: Keys | None = None
    url: str = ""
    _rules: list[_Rule] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ThreadingHTTPServer | None = None

    @classmethod
    def start(cls, upstream: str, log: Path, *, keys: Keys | None = None) -> "Front":
        """Answer from now on; return the front."""
        front = cls(upstream, CallLog(log), keys)
        front._server = _Server(("127.0.0.1", 0), _handler_for(front))
        front.url = f"http://127.0.0.1:{front._server.server_port}"
        threading.Thread(target=front._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return front

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def lose_next_answer(self, method: str, path: str) -> None:
        """Let the far side act on the next such call, then hang up before its answer arrives."""
        self._add(_Rule(kind=LOSE, method=method, path=path))

    def refuse_next(
        self, method: str, path: str, *, status: int, body: bytes, content_type: str, **headers: str
    ) -> None:
        """Answer the next such call with this; the far side never sees it. `retry_after` is the header of that name."""
        more = tuple((name.replace("_", "-").title(), value) for name, value in headers.items())
        answer = Answer(status=status, headers=(("Content-Type", content_type), *more), body=body)
        self._add(_Rule(kind=REFUSE, method=method, path=path, answer=answer))

    def refuse_next_as_stripe(self, method: str, path: str, *, status: int, **error: str) -> None:
        """Answer the next such call with a Stripe error object."""
        body = json.dumps({"error": error}).encode()
        self.refuse_next(method, path, status=status, body=body, content_type="application/json")

    def delay_next(self, method: str, path: str, *, seconds: float) -> None:
        """Pass the next such call on this much later."""
        self._add(_Rule(kind=DELAY, method=method, path=path, seconds=seconds))

    def calls(self) -> list[Call]:
        """Return what was received so far, oldest first."""
        return self.log.read()

    def unused(self) -> list[str]:
        """Return the rules that no call has used."""
        return [f"{rule.kind} {rule.method} {rule.path}" for rule in self._rules]

    def _add(self, rule: _Rule) -> None:
        with self._lock:
            self._rules.append(rule)

    def _take_rule(self, method: str, path: str) -> _Rule | None:
        with self._lock:
            for rule in self._rules:
                if rule.method == method and path.startswith(rule.path):
                    self._rules.remove(rule)
                    return rule
        return None

    def handle(self, call: _Request) -> Answer | None:
        """Answer one call; None means the answer is lost on its way back."""
        rule = self._take_rule(call.method, call.path)
        if rule and rule.kind == DELAY:
            time.sleep(rule.seconds)
        answer, fate = (rule.answer, "refused") if rule and rule.kind == REFUSE else self._answer(call)
        lost = bool(rule) and rule.kind == LOSE
        self.log.append(
            Call.of(
                method=call.method,
                path=call.path,
                key=call.key,
                body=call.body,
                status=answer.status,
                fate="lost" if lost else fate,
            )
        )
        return None if lost else answer

    def _answer(self, call: _Request) -> tuple[Answer, str]:
        if self.keys is None or not call.key or call.method != "POST":
            return self._pass_on(call), "answered"
        stored = self.keys.begin(call.key, (call.path, call.body))
        if stored is not None:
            return stored, "replayed" if stored.is_replay else "refused"
        answer = None
        try:
            answer = self._pass_on(call)
        finally:
            self.keys.finish(call.key, answer)
        return answer, "answered"

    def _pass_on(self, call: _Request) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=60)
        try:
            connection.putrequest(call.method, call.path, skip_host=True, skip_accept_encoding=True)
            for name, value in call.headers:
                if name.lower() not in HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(call.body)))
            connection.endheaders(call.body)
            response = connection.getresponse()
            kept = tuple((name, value) for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP)
            return Answer(status=response.status, headers=kept, body=response.read())
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A caller that was killed hangs up in the middle: that is what we are here for, not a complaint."""


def _handler_for(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_call(self) -> None:
            call = _Request(
                method=self.command,
                path=self.path,
                headers=tuple(self.headers.items()),
                key=self.headers.get("Idempotency-Key", ""),
                body=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
            )
            answer = front.handle(call)
            if answer is None:
                self.close_connection = True
                return
            self.send_response_only(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        def log_message(self, *args: object) -> None:
            """The call log is the log."""

    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.handle_call)
    return Handler
