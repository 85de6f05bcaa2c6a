"""
Starting and stopping a far side: it answers before `start` returns, and it is gone when `stop` returns.

Standard output carries one line, the port. Standard error goes to a file, so a server that does not start
can be quoted. Standard input is the leash: see server.py.
"""

import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FarSideError", "Server", "start"]

SECONDS_TO_START = 30


class FarSideError(Exception):
    """A far side could not be started. The message is one sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running far side."""

    url: str
    process: subprocess.Popen

    def stop(self) -> None:
        """Stop it; return when it is gone."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def start(kind: str, folder: Path) -> Server:
    """Start the far side of this kind; its complaints go to a file in the folder."""
    complaints = folder / f"{kind}.err"
    with complaints.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "project.farside.server", kind],
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            # Ctrl-C in the terminal is for the command, which stops us in its own order.
            start_new_session=True,
        )
    port = _read_port(process)
    if port is None:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        message = f"The local {kind} server did not start: {_last_line(complaints)}"
        raise FarSideError(message)
    return Server(url=f"http://127.0.0.1:{port}", process=process)


def _read_port(process: subprocess.Popen) -> int | None:
    ready, _, _ = select.select([process.stdout], [], [], SECONDS_TO_START)
    line = process.stdout.readline().strip() if ready else b""
    return int(line) if line.isdigit() else None


def _last_line(complaints: Path) -> str:
    lines = complaints.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"no answer within {SECONDS_TO_START} seconds."
