"""`manage.py serve`: the example site for looking at, with its worker and its far sides. For development only."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from project.accounts.models import Subscription
from project.demo.children import manage, stop_on_signals
from project.demo.ready import require_database, require_development
from project.demo.stage import StageError, open_subscription, point_site_at, put_up, staff_user
from project.farside import FarSideError, running
from project.farside.neon import Neon


class Command(BaseCommand):
    help = "Run the site, a worker and the local Stripe and S3. Creates the users demo (staff) and ada."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-worker", action="store_true", help="to see what the pages say when nobody works")

    def handle(self, *args: Any, port: int, no_worker: bool, **options: Any) -> None:
        require_development()
        require_database()
        _require_port(port)
        stop_on_signals()
        try:
            with _far_sides(), nullcontext() if no_worker else manage("reconcile", "--watch"):
                self._serve(port)
        except (FarSideError, StageError) as error:
            raise CommandError(str(error), returncode=2) from None
        except KeyboardInterrupt:
            self.stdout.write("Stopped, with the worker and the servers.")

    def _serve(self, port: int) -> None:
        address = f"127.0.0.1:{port}"
        with manage("runserver", address, "--noreload", "--skip-checks") as site:
            self.stdout.write(f"http://{address}/        sign in as ada, password demo: an account to delete")
            self.stdout.write(f"http://{address}/admin/  sign in as demo, password demo: the runs and their receipts")
            self.stdout.write(f"http://{address}/branches/  as demo: a branch to reset, at a Neon of this machine")
            while site.poll() is None:
                time.sleep(0.2)
        message = f"The site ended by itself, with {site.returncode}."
        raise CommandError(message, returncode=1)


@contextmanager
def _far_sides() -> Iterator[None]:
    """Start local far sides, unless the settings name others, and give ada something to lose."""
    staff_user("demo", "demo")
    if settings.STRIPE_API_BASE or settings.S3_ENDPOINT_URL:
        yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="known-state-serve-") as name,
        running(Path(name)) as far_sides,
        Neon(seconds=6) as neon,
    ):
        os.environ.update(neon.environment())
        point_site_at(far_sides, Path(settings.USER_FILES_ROOT))
        ada, _ = get_user_model().objects.get_or_create(username="ada", defaults={"email": "ada@example.org"})
        if ada.deletion_pending_at is None:
            ada.set_password("demo")
            ada.save()
            # The local Stripe forgets everything when it stops.
            Subscription.objects.filter(user=ada).delete()
            open_subscription(ada, far_sides)
            put_up(ada, far_sides, files=25, objects=60)
        yield


def _require_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            message = f"Port {port} cannot be used ({error.strerror}). Choose another: manage.py serve --port 8001"
            raise CommandError(message, returncode=2) from None
