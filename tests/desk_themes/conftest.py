"""Chromium before a site with another theme. The site is a process of its own: themes are apps, and this process has its."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.client.conftest import chromium, playwright  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parent.parent.parent


@contextlib.contextmanager
def site(theme, folder):
    """Serve the example site under that theme; yield its address, its pages, and a session."""
    command = [
        sys.executable,
        "-m",
        "tests.desk_themes.site",
        f"tests.desk_themes.settings_{theme}",
        folder / "site.sqlite3",
    ]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "DATABASE_"))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=known, **pipes) as served:  # its end closes the input, and so ends it
        line = served.stdout.readline()
        assert line, f"the site under {theme} did not come up"
        yield SimpleNamespace(**json.loads(line))


@pytest.fixture(scope="session")
def themed(request, tmp_path_factory):
    with site(request.param, tmp_path_factory.mktemp(request.param)) as served:
        served.theme = request.param
        yield served


@pytest.fixture
def visitor(themed, chromium):  # noqa: F811 - the fixture of that name
    """Return a function: options of a context → a page that is logged in. An error of a script fails the test."""
    contexts, faults = [], []

    def open_(**options):
        context = chromium.new_context(**options)
        context.add_cookies([{"name": "sessionid", "value": themed.session, "url": themed.url}])
        context.on(
            "weberror",
            lambda error: faults.append((error.page.url, str(error.error))),
        )
        contexts.append(context)
        return context.new_page()

    yield open_
    for context in contexts:
        context.close()
    assert faults == []
