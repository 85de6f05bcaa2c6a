"""
Owners: which process holds a run, in words for people and as a proof of death.

An owner is a label. It is used for one thing only: a boot pass may take over at once from a process of the same host
that provably no longer exists. Everyone else waits for the lease. Correctness never rests on it; the fence does that.
"""

from __future__ import annotations

import functools
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Owner", "current", "is_gone", "label_of", "parse"]

_FORM = re.compile(
    r"(?P<host>.+)/(?P<pid>\d+) machine=(?P<machine>\w*) boot=(?P<boot>\w*) pids=(?P<pids>\d*) start=(?P<start>\d*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One process. An empty string is a fact this platform does not tell."""

    host: str  # its name, for people
    pid: int
    machine: str  # what makes the host this host, whatever it is called
    boot: str  # which start of that machine's kernel
    pids: str  # its process-id namespace: a container has its own
    start: str  # when the process began, in the kernel's ticks: tells a reused pid from the old one

    def __str__(self) -> str:
        return f"{self.host}/{self.pid} machine={self.machine} boot={self.boot} pids={self.pids} start={self.start}"[
            :200
        ]

    @property
    def label(self) -> str:
        """Host and process, as a person says it."""
        return f"{self.host}/{self.pid}"


def current() -> Owner:
    """Return this process as an owner. Cheap: the facts are read once per process."""
    return _describe(os.getpid())


def parse(text: str) -> Owner | None:
    """Return the owner written in a run's `owner` column, or None where it is not one of ours."""
    found = _FORM.fullmatch(text)
    return Owner(**{**found.groupdict(), "pid": int(found["pid"])}) if found else None  # type: ignore[arg-type]


def label_of(text: str | None) -> str:
    """Return host and process of a run's `owner` column, as a person says it, whatever stands there."""
    owner = parse(text or "")
    return owner.label if owner else text or "an unknown owner"


def is_gone(text: str) -> bool:
    """
    Return whether that owner provably no longer exists, seen from this process.

    True only with proof: the same machine in an earlier boot, or the same machine, boot and pid namespace with the pid
    gone or begun at another time. In doubt, False.
    """
    owner, me = parse(text), current()
    if owner is None or owner.host != me.host or not owner.machine or owner.machine != me.machine:
        return False
    if owner.boot and me.boot and owner.boot != me.boot:
        return True
    if (owner.boot, owner.pids) != (me.boot, me.pids) or not owner.pids:
        return False
    return _start_of(owner.pid) != owner.start and not _is_hidden(owner.pid)


def _is_hidden(pid: int) -> bool:
    """Return whether the process is there, but not for us to look at, as where /proc hides other users' processes."""
    if Path(f"/proc/{pid}/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@functools.lru_cache(maxsize=2)
def _describe(pid: int) -> Owner:
    # Keyed by pid: a forked child is another owner than its parent.
    return Owner(
        host=re.sub(r"[\s/]", "-", socket.gethostname())[:80] or "unknown",
        pid=pid,
        machine=_read("/etc/machine-id")[:12] or _read("/proc/sys/kernel/random/boot_id").replace("-", "")[:12],
        boot=_read("/proc/sys/kernel/random/boot_id").replace("-", "")[:12],
        pids=_pid_namespace(),
        start=_start_of(pid),
    )


def _start_of(pid: int) -> str:
    """Return when a process began, in ticks since boot, or an empty string where it does not exist or cannot be seen."""
    # The name in parentheses may itself hold spaces and parentheses; the 22nd field is counted from the last one.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 20 or (fields[0] in "ZX" and fields[17] == "1"):
        return ""  # a dead process, its last thread too, that its parent has not waited for runs no more
    return fields[19]


def _pid_namespace() -> str:
    try:
        return "".join(re.findall(r"\d+", os.readlink("/proc/self/ns/pid")))
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
