"""
Needs: programs that are no Python packages. They are found or installed; a test that has none fails and says so.
"""

import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FAKETIME = "libfaketimeMT.so.1"


@functools.cache
def program(name: str, package: str) -> str:
    """Return the path of a program, installed from its Debian package where it is missing and we may."""
    found, said = shutil.which(name) or _in_sbin(name), ""
    if found is None and _may_install():
        said = _install(package)
        found = shutil.which(name) or _in_sbin(name)
    assert found, (
        f"this test needs {name}: install the package {package} (apt-get install {package}), or run it as root. {said}"
    )
    return found


@functools.cache
def faketime_library() -> str:
    """Return the library that gives a process another time."""
    program("faketime", "faketime")
    found = sorted(Path("/usr/lib").glob(f"**/{FAKETIME}"))
    assert found, f"this test needs {FAKETIME}: install the package libfaketime"
    return str(found[0])


def may_unshare(*options: str) -> bool:
    """Return whether this process may have a namespace of its own of that sort."""
    return subprocess.run(["unshare", *options, "true"], capture_output=True).returncode == 0


#: What is typed before a command that is to run on another host: one of another name, as far as it can tell.
def on_host(name: str) -> list[str]:
    assert may_unshare("--uts"), "this test gives a process another host name, which needs root: unshare --uts"
    return ["unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh"]


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install(package: str) -> str:
    """Install a package; one part of the suite at a time, as apt refuses a second. Return what it complained of."""
    quiet, said = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, ""
    wait = ["-o", "DPkg::Lock::Timeout=300"]  # for others than us
    with Path(tempfile.gettempdir(), "known-state-tests-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", package]):
            ended = subprocess.run(["apt-get", *wait, *command], env=quiet, capture_output=True, text=True, timeout=600)
            said = ended.stderr.strip()[-500:] if ended.returncode else ""
    return said


def _in_sbin(name: str) -> str | None:
    return next((path for path in (f"/usr/sbin/{name}", f"/sbin/{name}") if os.access(path, os.X_OK)), None)
