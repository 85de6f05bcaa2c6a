"""
The interpreters of the contenders: ours for us and the floors, one virtual environment each for the peers.

They are made on first use under var/bench-peers and kept. What does not install is a reason, not a crash.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.catalogue import Entrant
from bench.contender import Unable

__all__ = ["interpreter", "versions"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "var" / "bench-peers"


def interpreter(entrant: Entrant) -> str:
    """The Python that runs this contender, installed if need be; raise Unable with the reason."""
    if entrant.needs and shutil.which(entrant.needs) is None:
        raise Unable(f"needs the program {entrant.needs}, and there is none on PATH: install it and run this again")
    if not entrant.packages:
        return sys.executable
    folder = FOLDER / re.sub(r"[^a-z0-9]+", "-", entrant.name.lower()).strip("-")
    python = folder / "bin" / "python"
    ready = folder / "ready.txt"
    wanted = " ".join(entrant.packages)
    if ready.exists() and ready.read_text() == wanted:
        return str(python)
    _run([_base(entrant), "-m", "venv", "--clear", str(folder)], "make a virtual environment")
    _run([str(python), "-m", "pip", "install", "--quiet", *entrant.packages], f"install {wanted}")
    ready.write_text(wanted)
    os.sync()  # or it is written while somebody is measured
    return str(python)


def versions(python: str) -> dict[str, str]:
    """The packages of an interpreter and their versions, and its own."""
    script = (
        "import importlib.metadata as m, json, platform;"
        "print(json.dumps({'python': platform.python_version(), "
        "**{d.name.lower().replace('_', '-'): d.version for d in m.distributions()}}))"
    )
    import json

    return json.loads(subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout)


def _base(entrant: Entrant) -> str:
    if sys.version_info[:2] >= entrant.python:
        return sys.executable
    candidates = [shutil.which(f"python3.{minor}") for minor in range(15, entrant.python[1] - 1, -1)]
    candidates += sorted(map(str, Path.home().glob(".pyenv/versions/3.*/bin/python")), reverse=True)
    test = f"import sys; sys.exit(sys.version_info < {entrant.python})"
    for path in candidates:
        if path and subprocess.run([path, "-c", test], capture_output=True, check=False).returncode == 0:
            return path
    raise Unable("needs Python {}.{} or newer; none was found".format(*entrant.python))


def _run(command: list[str], what: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise Unable(f"could not {what}: {lines[-1] if lines else 'no message'}")
