"""`manage.py demo` and `manage.py serve`, run as a newcomer runs them; and what they say when something is missing."""

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

from project.accounts.models import AccountDeletion, SubscriptionOpening
from tests.factories import SubscriptionFactory

ROOT = Path(__file__).resolve().parents[2]
MANAGE = [sys.executable, str(ROOT / "manage.py")]


def _run(environment, *arguments, **more):
    return subprocess.run(
        [*MANAGE, *arguments], env={**environment, **more}, capture_output=True, text=True, timeout=120, check=False
    )


@contextmanager
def _started(environment, *arguments):
    process = subprocess.Popen(
        [*MANAGE, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _read_until(process, words):
    for line in process.stdout:
        if words in line:
            return
    pytest.fail(f"{words!r} was never said")


def _gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=20)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_the_demo_finds_all_of_it_true_and_again_when_repeated_without_rich(site_environment, tmp_path):
    """The first one also finds what an interrupted demo left: an opening and a deletion that its servers forgot."""
    SubscriptionOpening.objects.start(user_id=0, email="gone@example.org", plan="plan_gone", payment_method="pm_gone")
    left_over = AccountDeletion.start_for(SubscriptionFactory().user)
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError('no rich here')")

    told = _run(site_environment, "demo")
    plainly = _run(site_environment, "demo", PYTHONPATH=str(tmp_path))

    for answer in (told, plainly):
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert re.search(r"\d+ of 240 files are gone", answer.stdout)
        assert "7 receipts, 8 starts of a step, 7 calls received" in answer.stdout
    assert "✗" not in told.stdout
    assert "== manage.py reconcile" in plainly.stdout
    assert "WRONG" not in plainly.stdout
    left_over.refresh_from_db()
    assert left_over.status == "done"
    assert [deletion.status for deletion in AccountDeletion.objects.all()] == ["done"] * 3


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long)]
)
def test_interrupting_the_demo_leaves_no_process_behind(site_environment, number, code):
    with _started(site_environment, "demo") as demo:
        _read_until(demo, "Watching")
        children = psutil.Process(demo.pid).children(recursive=True)
        assert len(children) == 3

        demo.send_signal(number)

        assert demo.wait(timeout=30) == code
        assert "Traceback" not in demo.stdout.read()
    assert _gone(children)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel ends orphans on Linux only")
def test_killing_the_demo_leaves_no_process_behind(site_environment):
    with _started(site_environment, "demo") as demo:
        _read_until(demo, "Watching")
        children = psutil.Process(demo.pid).children(recursive=True)

        demo.kill()

    assert _gone(children)


# Bad situations: one sentence, exit 2, no traceback ------------------------------------------------------------------


@pytest.mark.parametrize("command", ["demo", "serve"])
def test_a_database_that_is_not_migrated_is_told_in_one_sentence(site_environment, tmp_path, command):
    told = _run(site_environment, command, DATABASE_URL=f"sqlite:///{tmp_path}/empty.sqlite3")

    assert told.returncode == 2
    assert told.stderr == "CommandError: The database is not migrated. Run `manage.py migrate` first.\n"


def test_a_database_that_is_down_is_told_in_one_sentence(site_environment):
    told = _run(site_environment, "demo", DATABASE_URL="postgres://nobody@127.0.0.1:9/nothing")

    assert told.returncode == 2
    assert told.stderr.startswith("CommandError: The database does not answer (connection ")
    assert told.stderr.count("\n") == 1


def test_a_far_side_that_does_not_start_is_told_in_one_sentence(site_environment, tmp_path):
    (tmp_path / "moto").mkdir()
    (tmp_path / "moto" / "__init__.py").write_text("raise ImportError('moto is broken')")

    told = _run(site_environment, "demo", PYTHONPATH=str(tmp_path))

    assert told.returncode == 2
    assert told.stderr == "CommandError: The local s3 server did not start: ImportError: moto is broken\n"


def test_a_port_in_use_is_told_in_one_sentence(site_environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = _run(site_environment, "serve", "--port", str(taken.getsockname()[1]))

    assert told.returncode == 2
    assert "cannot be used (Address already in use). Choose another" in told.stderr


@pytest.mark.parametrize("command", ["demo", "serve"])
def test_outside_development_nothing_is_done_to_a_database_that_could_be_in_use(site_environment, command):
    told = _run(site_environment, command, DEBUG="false")

    assert told.returncode == 2
    assert told.stderr.startswith("CommandError: This is for development")


# serve ---------------------------------------------------------------------------------------------------------------


class _Browser:
    """Just enough of one: cookies, and forms with their token."""

    def __init__(self, port):
        self.root = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path):
        with self.opener.open(self.root + path, timeout=20) as answer:
            self.address = answer.url.removeprefix(self.root)
            return answer.read().decode()

    def post(self, path, **fields):
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path))[1]
        body = urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
        with self.opener.open(self.root + path, body, timeout=20) as answer:
            self.address = answer.url.removeprefix(self.root)
            return answer.read().decode()

    def wait_for(self, path, words):
        until = time.monotonic() + 40
        while words not in (page := self.get(path)):
            assert time.monotonic() < until, page
            time.sleep(0.1)


def _wait_for_port(port):
    until = time.monotonic() + 40
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


def test_serve_lets_ada_delete_her_account_and_staff_look_at_the_run(site_environment, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**site_environment, "USER_FILES_ROOT": str(tmp_path / "files")}

    with _started(environment, "serve", "--port", str(port)) as serving:
        _read_until(serving, "sign in as demo")
        _wait_for_port(port)
        children = psutil.Process(serving.pid).children(recursive=True)
        ada = _Browser(port)
        ada.post("/sign-in/", username="ada", password="demo")
        ada.post("/account/delete/", password="demo")
        assert ada.address.startswith("/account/deletion/")
        ada.wait_for(ada.address, "Your account is gone")
        staff = _Browser(port)
        staff.post("/admin/login/", username="demo", password="demo")
        assert "delete_customer" in staff.get(
            f"/admin/accounts/accountdeletion/{AccountDeletion.objects.get().pk}/change/"
        )

        serving.send_signal(signal.SIGINT)

        assert serving.wait(timeout=30) == 0
    assert _gone(children)
