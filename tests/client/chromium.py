"""A real Chromium: the system's, or Playwright's own, fetched when it is missing. Never left out silently."""

import os
import shutil
import subprocess
import sys

from tests.needs import program

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """Return the path of a system browser (`CHROMIUM` names one), or None for Playwright's own."""
    named = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if named is None and subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"]).returncode != 0:
        return program("chromium", "chromium")  # where nothing but the distribution's packages can be had
    return named
