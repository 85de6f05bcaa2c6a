"""The other side of the wire: an HTTP server on this machine that writes down every call and answers as it is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["FarSide"]


class FarSide:
    """`with FarSide() as far:` answers at `far.url`. `far.answers` are (status, headers, body), one per call."""

    def __init__(self, default):
        self.calls = []  # (path, headers, body bytes)
        self.answers = []
        self._default = default
        self._lock = threading.Lock()

    def __enter__(self):
        far = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with far._lock:
                    far.calls.append((self.path, dict(self.headers), body))
                    answer = far.answers.pop(0) if far.answers else far._default
                status, headers, said = answer() if callable(answer) else answer
                raw = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(raw)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
