"""
Needs: programs that are no Python packages. They are found or installed; a test that has none fails and says so.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

FAKETIME = "libfaketimeMT.so.1"


@functools.cache
def program(name: str, package: str) -> str:
    """Return the path of a program, installed from its Debian package where it is missing and we may."""
    found = shutil.which(name) or _in_sbin(name)
    if found is None and _may_install():
        _install(package)
        found = shutil.which(name) or _in_sbin(name)
    assert found, (
        f"this test needs {name}: install the package {package} (apt-get install {package}), or run it as root"
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


def _install(package: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", package]):
        subprocess.run(command, env=quiet, capture_output=True, timeout=300)


def _in_sbin(name: str) -> str | None:
    return next((path for path in (f"/usr/sbin/{name}", f"/sbin/{name}") if os.access(path, os.X_OK)), None)
